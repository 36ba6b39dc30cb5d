// Tables on the engines of every test run.
import { describe } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { testTables } from './table-suite.ts';

for (const engine of ENGINES) describe(engine.name, () => testTables(engine));
