// Snapshots of several processes become one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { combine, countersOf } from '../../src/metrics/snapshot.ts';

const one = {
  notes_batch_items: { '_sum{batch="read"}': 1 },
  notes_streams_open: { '': 2 },
  notes_database_file_bytes: { '{file="main"}': 5 },
  process_start_time_seconds: { '': 20 },
  nodejs_eventloop_delay_max_seconds: { '': 0.5 },
};
const other = {
  notes_batch_items: { '_sum{batch="read"}': 2, '_sum{batch="write"}': 4 },
  notes_streams_open: { '': 3 },
  notes_database_file_bytes: { '{file="main"}': 6 },
  process_start_time_seconds: { '': 10 },
  nodejs_eventloop_delay_max_seconds: { '': 0.25 },
};

test('metrics: values of several processes are added, with few exceptions', () => {
  assert.deepEqual(combine([one, other]), {
    notes_batch_items: { '_sum{batch="read"}': 3, '_sum{batch="write"}': 4 },
    notes_streams_open: { '': 5 },
    notes_database_file_bytes: { '{file="main"}': 5 },
    process_start_time_seconds: { '': 10 },
    nodejs_eventloop_delay_max_seconds: { '': 0.5 },
  });
});

test('metrics: of a process that has ended, only what it counted stays', () => {
  assert.deepEqual(countersOf(one), { notes_batch_items: { '_sum{batch="read"}': 1 } });
});
