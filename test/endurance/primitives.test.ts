// The primitives in more orders.
import { after } from 'node:test';
import { testPrimitives } from '../concurrency/sync-orders.ts';
import { TestThreads } from '../concurrency/test-threads.ts';

testPrimitives(new TestThreads({ after }, 2), 2);
