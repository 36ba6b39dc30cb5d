// The search index follows the records, on a file and on the stand-in for rqlite.
import { suite } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { testSearchIndex } from './search-index-suite.ts';

for (const engine of ENGINES) suite(engine.name, () => testSearchIndex(engine));
