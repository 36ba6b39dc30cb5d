// Tables on the engines of every test run. The other tests of a database in memory are in the
// endurance tests.
import { describe } from 'node:test';
import { testChangeLog } from '../changes/change-log-suite.ts';
import { testCreations } from '../retries/creation-suite.ts';
import { ENGINES, MEMORY } from '../support/engines.ts';
import { testNoteTags } from '../tags/note-tags-suite.ts';
import { testTables } from './table-suite.ts';
import { testVersions } from './version-suite.ts';

for (const engine of ENGINES) describe(engine.name, () => testTables(engine));

describe(MEMORY.name, () => testVersions(MEMORY));

for (const engine of ENGINES) {
  describe(engine.name, () => {
    testVersions(engine);
    testCreations(engine);
    testChangeLog(engine);
    testNoteTags(engine);
  });
}
