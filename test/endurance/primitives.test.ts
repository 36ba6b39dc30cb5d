// The primitives in more orders, and the proof that the quick checks of the first ring
// find each mutant.
import { testChecks, testMutants } from '../concurrency/check.ts';
import { ORDER_CHECKS } from '../concurrency/sync-orders.ts';
import { WAIT_CHECKS } from '../concurrency/sync-waits.ts';

testChecks(ORDER_CHECKS, 2);

testMutants(WAIT_CHECKS);
testMutants(ORDER_CHECKS);
