// Imports on the engines of every test run, round trips of random records, and lines that are too
// long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headLine } from '../../src/commands/export-format.ts';
import { ExportReader } from '../../src/commands/export-reader.ts';
import { ENGINES } from '../support/engines.ts';
import { testImports } from './import-suite.ts';
import { checkRoundTrips } from './round-trip.ts';

for (const engine of ENGINES) testImports(engine);

test('import: random records, imported in pieces and exported again, equal', (t) =>
  checkRoundTrips(t, 3));

test('import: a line is read up to the limit at most', async () => {
  let read = 0;
  async function* endless() {
    yield Buffer.from(headLine({ counts: {}, lastIds: {} }));
    for (; ; read += 1) yield Buffer.alloc(200_000, 'x');
  }
  const reader = new ExportReader(endless());
  const pages = reader.pages(await reader.readHead());
  await assert.rejects(pages.next(), /^Error: line 2: it has more than 2097152 bytes$/);
  assert.equal(read, 10);
});
