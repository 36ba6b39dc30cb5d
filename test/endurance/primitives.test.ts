// The primitives in more orders.
import { testChecks } from '../concurrency/check.ts';
import { ORDER_CHECKS } from '../concurrency/sync-orders.ts';

testChecks(ORDER_CHECKS, 2);
