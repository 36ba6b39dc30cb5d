// The tests of tables and of the search index on a database in memory, which has one connection.
import { testChangeLog } from '../changes/change-log-suite.ts';
import { testLists } from '../lists/list-suite.ts';
import { testNarrowTimes } from '../lists/narrow-times-suite.ts';
import { testTimes } from '../lists/time-suite.ts';
import { testCreations } from '../retries/creation-suite.ts';
import { testSearchIndex } from '../search/search-index-suite.ts';
import { MEMORY } from '../support/engines.ts';
import { testNoteTags } from '../tags/note-tags-suite.ts';

testCreations(MEMORY);
testLists(MEMORY);
testChangeLog(MEMORY);
testNoteTags(MEMORY);
testTimes(MEMORY, 1);
testNarrowTimes(MEMORY);
testSearchIndex(MEMORY);
