// Many clients at once, in numbers that fill batches and queues.
import { test } from 'node:test';
import {
  commentOnMissing,
  commentWhileDeleting,
  createAtOnce,
  readOwnWrites,
  writeOneRecord,
} from '../support/concurrent-clients.ts';

test('clients: 1,000 concurrent creates get distinct ids', (t) => createAtOnce(t, 1_000));

test('clients: each of 64 reads its own writes', (t) => readOwnWrites(t, 64, 20));

test('clients: 32 write one record in one order', (t) => writeOneRecord(t, 32, 12));

test('clients: 300 writes to missing notes spoil no batch', (t) => commentOnMissing(t, 600));

test('clients: comments while ten notes are deleted', (t) => commentWhileDeleting(t, 10));
