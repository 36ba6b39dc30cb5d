// The primitives with many rounds and orders, and the proof that the quick checks of the first ring
// find each mutant.
import { testChecks, testMutants } from '../concurrency/check.ts';
import { ORDER_CHECKS } from '../concurrency/sync-orders.ts';
import { ROUND_CHECKS } from '../concurrency/sync-rounds.ts';
import { WAIT_CHECKS } from '../concurrency/sync-waits.ts';

testChecks(ROUND_CHECKS, 10_000);
testChecks(ORDER_CHECKS, 2);

testMutants(WAIT_CHECKS, 1);
testMutants(ROUND_CHECKS, 400);
testMutants(ORDER_CHECKS, 1);
