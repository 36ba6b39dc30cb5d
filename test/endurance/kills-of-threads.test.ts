// Many threads of the demonstrations are killed at random moments.
import { test } from 'node:test';
import { assertSurvivesKills } from '../concurrency/thread-pool-kills.ts';

test('thread pool: 200 killed threads cost only their own requests', (t) =>
  assertSurvivesKills(t, 200));
