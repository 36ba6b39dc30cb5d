// Appends and edits, on SQLite and on the stand-in for rqlite.
import { describe } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { testRewrites } from './rewrite-suite.ts';

for (const engine of ENGINES) describe(engine.name, () => testRewrites(engine));
