// Snapshots of several processes become one, and a large one leaves turns to others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { combine, countersOf, formatSnapshot, type Snapshot } from '../../src/metrics/snapshot.ts';
import { parseExposition, sampleOf } from '../support/exposition.ts';

const one: Snapshot = {
  metrics: {
    notes_batch_items: { '_sum{batch="read"}': 1 },
    notes_streams_open: { '': 2 },
    notes_database_file_bytes: { '{file="main"}': 5 },
    process_start_time_seconds: { '': 20 },
    nodejs_eventloop_delay_max_seconds: { '': 0.5 },
  },
  keys: [
    ['both', [1, 2, 3, 4]],
    ['__proto__', [5, 6, 7, 8]],
  ],
};
const other: Snapshot = {
  metrics: {
    notes_batch_items: { '_sum{batch="read"}': 2, '_sum{batch="write"}': 4 },
    notes_streams_open: { '': 3 },
    notes_database_file_bytes: { '{file="main"}': 6 },
    process_start_time_seconds: { '': 10 },
    nodejs_eventloop_delay_max_seconds: { '': 0.25 },
  },
  keys: [['both', [10, 20, 30, 40]]],
};

test('metrics: values of several processes are added, with few exceptions', async () => {
  assert.deepEqual(await combine([one, other]), {
    metrics: {
      notes_batch_items: { '_sum{batch="read"}': 3, '_sum{batch="write"}': 4 },
      notes_streams_open: { '': 5 },
      notes_database_file_bytes: { '{file="main"}': 5 },
      process_start_time_seconds: { '': 10 },
      nodejs_eventloop_delay_max_seconds: { '': 0.5 },
    },
    keys: [
      ['both', [11, 22, 33, 44]],
      ['__proto__', [5, 6, 7, 8]],
    ],
  });
});

test('metrics: of a process that has ended, only what it counted stays', () => {
  const metrics = { notes_batch_items: { '_sum{batch="read"}': 1 } };
  assert.deepEqual(countersOf(one), { metrics, keys: one.keys });
});

test('metrics: the text of 10,000 keys, and their sums, are made in many turns', async () => {
  const labels = Array.from({ length: 10_000 }, (_, index) => `key-${index}`);
  const snapshot: Snapshot = { metrics: {}, keys: labels.map((label) => [label, [1, 2, 3, 4]]) };
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const sum = await combine(Array(4).fill(snapshot));
  assert.ok(turns >= 4, `${turns} turns`);
  turns = 0;
  const families = parseExposition(await formatSnapshot(sum, labels));
  isOver = true;
  assert.ok(turns >= 10, `${turns} turns`);
  for (const key of ['key-0', 'key-9999']) {
    assert.equal(sampleOf(families, 'notes_key_refusals_total', { key }), 8);
    assert.equal(sampleOf(families, 'notes_key_bytes_total', { key, direction: 'sent' }), 16);
  }
});
