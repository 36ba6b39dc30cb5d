// The rate limiter with its largest quota and a million clients.
import { test } from 'node:test';
import { assertLimiterBounded, assertQuota } from '../support/rate-limiter.ts';

test('rate limit: a quota of a million at once, then evenly', () => assertQuota(1_000_000, 5e9));

test('rate limit: a million clients take bounded memory', () => assertLimiterBounded(1_000_000));
