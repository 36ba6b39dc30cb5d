// The answers of the six demonstrations, to the code point, on a few threads.
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import { ODD_TEXTS, testDemonstrations } from '../../support/demonstration-checks.ts';
import { numbered } from '../../support/demonstration-requests.ts';

// Idle threads would start and end beside each test.
POOL_LIMITS.idle = 0;

const largest = Number.MAX_SAFE_INTEGER;
const fifty = Array.from({ length: 50 }, (_, index) => index - 25);
const fails = ['fail', 'Fail', ' fail', 'failure', 'unfailing', 'same', 'same', 'fail'];
const long = 'x'.repeat(100_000);

await testDemonstrations({
  counters: [[4, 1_000]],
  semaphores: [
    [[5, 5, 5, 5], 1],
    [[largest, -largest, 0, largest, 7, 7], 2],
    [fifty, 2],
  ],
  events: ['', ODD_TEXTS.join(''), '😀'.repeat(500)],
  pools: [
    [['fail'], 2],
    [[...ODD_TEXTS, ...fails, '', long], 1],
    [numbered(50).map((item, index) => (index % 3 === 0 ? `fail ${item}` : item)), 3],
  ],
  queues: [
    [numbered(50), 1, 1],
    [numbered(50), 3, 4],
    [[...ODD_TEXTS, 'same', 'same', '', long], 1, 3],
  ],
  threadLocals: [
    [['😀'.repeat(1_000), long], '😀'.repeat(100)],
    [['', 'same', 'same', ...numbered(527)], '__proto__'],
  ],
  mixed: [1, 2],
});
