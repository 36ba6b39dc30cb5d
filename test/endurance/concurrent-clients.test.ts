// Many clients at once, in numbers that fill batches and queues.
import { test } from 'node:test';
import { commentWhileDeleting, writeOneRecord } from '../support/concurrent-clients.ts';

test('clients: 32 write one record in one order', (t) => writeOneRecord(t, 32, 12));

test('clients: comments while ten notes are deleted', (t) => commentWhileDeleting(t, 10));
