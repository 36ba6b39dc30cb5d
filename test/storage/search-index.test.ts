// The search index follows the records, on every engine.
import { suite } from 'node:test';
import { ENGINES, MEMORY } from '../support/engines.ts';
import { testSearchIndex } from './search-index-suite.ts';

for (const engine of [...ENGINES, MEMORY]) suite(engine.name, () => testSearchIndex(engine));
