// Ten backups of a larger database while eight clients write.
import { test } from 'node:test';
import { testBackupsUnderWriters } from '../support/backups-under-writers.ts';
import { needsFile } from '../support/engine.ts';

test('backup: ten, complete while eight clients write', { skip: needsFile }, (t) =>
  testBackupsUnderWriters(t, { notes: 5_000, writers: 8, backups: 10 }),
);
