// The tests of tables and of the search index on a database in memory, which has one connection.
import { testChangeLog } from '../storage/change-log-suite.ts';
import { testCreations } from '../storage/creation-suite.ts';
import { testLinks } from '../storage/link-suite.ts';
import { testLists } from '../storage/list-suite.ts';
import { testSearchIndex } from '../storage/search-index-suite.ts';
import { testTimes } from '../storage/time-suite.ts';
import { MEMORY } from '../support/engines.ts';

testCreations(MEMORY);
testLists(MEMORY);
testChangeLog(MEMORY);
testLinks(MEMORY);
testTimes(MEMORY, 1);
testSearchIndex(MEMORY);
