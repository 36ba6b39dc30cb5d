// The demonstrations with many sizes, and on as many threads as each may have.
import { ODD_TEXTS, testDemonstrations } from '../support/demonstration-checks.ts';
import { numbered } from '../support/demonstration-requests.ts';

const fifty = Array.from({ length: 50 }, (_, index) => index - 25);
const lists = [['a'], ['fail'], numbered(50), numbered(9, 'fail'), ['x'.repeat(100_000)]];

await testDemonstrations({
  counters: [
    [16, 1],
    [1, 1_000],
    [7, 143],
    [16, 1_000],
  ],
  semaphores: [
    ...[1, 3, 8, 8].map((limit) => [fifty, limit] as const),
    ...[7, 8, 9].map((count) => [fifty.slice(0, count), 8] as const),
  ],
  events: [
    ...['', 'a', ...ODD_TEXTS, '👩‍👩‍👧 𝒳'],
    ...['x', '😀', '\u0000'].map((text) => text.repeat(500)),
  ],
  pools: [...lists, [...ODD_TEXTS, 'fail', 'failure']].flatMap((items) => [
    [items, 1] as const,
    [items, 8] as const,
  ]),
  queues: [
    [['a'], 8, 50],
    ...[1, 4, 50].map((size) => [numbered(50), 8, size] as const),
    [numbered(50), 3, 7],
  ],
  threadLocals: [
    [numbered(8), '😀'.repeat(100)],
    [numbered(120), 'request'],
    [numbered(120), 'constructor'],
    [numbered(80_000), 'k'],
  ],
  mixed: [3, 20],
});
