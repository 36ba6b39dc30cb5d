// A database with an unfinished import, on which no service starts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runUnfinishedImport } from './hazards/unfinished-import.ts';

test('hazards: check finds an unfinished import, and repairs nothing', async (t) => {
  assert.deepEqual(await runUnfinishedImport(t), {
    importStatus: 1,
    serviceStatus: 1,
    checkStatus: 1,
    checkLines: 1,
    repairStatus: 1,
    secondImportStatus: 0,
    secondCheckStatus: 0,
    secondServiceStatus: 0,
  });
});
