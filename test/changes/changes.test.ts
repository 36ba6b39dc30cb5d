// The log of changes as clients follow it, on a file, on the stand-in for rqlite and in memory.
import { suite } from 'node:test';
import { ENGINES, MEMORY } from '../support/engines.ts';
import { testChanges } from './changes-suite.ts';

for (const engine of [...ENGINES, MEMORY]) suite(engine.name, () => testChanges(engine));
