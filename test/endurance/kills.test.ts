// Kills of a service on a file: every acknowledged write survives.
import { test } from 'node:test';
import { killRepeatedly } from '../support/kills.ts';

test('durability: acknowledged writes survive ten kills', (t) => killRepeatedly(t, 10, [60, 240]));
