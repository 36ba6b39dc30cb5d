// Records as lines: whatever is stored is exported, can be imported into any engine, and is
// exported again unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInto } from '../../src/commands/records.ts';
import { openDatabase, overhear } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';
import { NOTES, RECORDS, testRecords } from './records-suite.ts';
import { checkRoundTrips } from './round-trip.ts';

for (const engine of ENGINES) testRecords(engine);

test('records: those that exist are not written again', async (t) => {
  const { database, transactions } = overhear(await openDatabase(t));
  const into = importInto(database, 1);
  await into.add(NOTES, RECORDS);
  const { length } = transactions;
  await into.add(NOTES, RECORDS);
  assert.equal(transactions.length, length);
});

test('records: exported, imported in pieces and exported again, equal', (t) =>
  checkRoundTrips(t, 3));
