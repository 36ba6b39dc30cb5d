// Lists on the engines of every test run. Those of a database in memory are in the endurance tests.
import { describe } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { testLists } from './list-suite.ts';
import { testNarrowTimes } from './narrow-times-suite.ts';
import { testTimes } from './time-suite.ts';

for (const engine of ENGINES)
  describe(engine.name, () => {
    testLists(engine);
    testTimes(engine);
    testNarrowTimes(engine);
  });
