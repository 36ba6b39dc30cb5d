// Imports on the engines of every test run, and round trips of random records.
import { test } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { testImports } from './import-suite.ts';
import { checkRoundTrips } from './round-trip.ts';

for (const engine of ENGINES) testImports(engine);

test('import: random records, imported in pieces and exported again, equal', (t) =>
  checkRoundTrips(t, 3));
