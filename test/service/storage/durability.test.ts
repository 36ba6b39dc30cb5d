// A killed process loses nothing that it acknowledged. The endurance tests kill more often; that a
// commit waits for the disk is shown by `synchronous` in sqlite.test.ts and by the failing fsync in
// refusals.test.ts.
import { test } from 'node:test';
import { killRepeatedly } from '../../support/kills.ts';

test('durability: acknowledged writes survive a kill', (t) => killRepeatedly(t, 1, [40, 80]));
