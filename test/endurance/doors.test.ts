// The doors of the features: on a copy of the project, removes the folder of one and the lines that
// name it. What is left compiles, and passes the tests of the core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectCopy } from '../support/project-copy.ts';

/** A text of a file that names a feature, and what takes its place. */
type Edit = readonly [file: string, before: string, after?: string];

const APP = 'src/app.ts';

/** The features by folder, and the edits that remove each. */
const FEATURES: Readonly<Record<string, readonly Edit[]>> = {
  changes: [
    [APP, "import { changes } from './changes/feature.ts';\n"],
    [APP, '    changes(core),\n'],
  ],
  concurrency: [
    [APP, "import { demonstrations } from './concurrency/feature.ts';\n"],
    [APP, '    demonstrations(maxThreads),\n'],
    [APP, '{ db, maxThreads, noMetrics }', '{ db, noMetrics }'],
  ],
  health: [
    [APP, "import { health } from './health/feature.ts';\n"],
    [APP, '    health(core),\n'],
  ],
};

/** The tests of the core: HTTP, the contract at run time, and single records. */
const CORE_TESTS = [
  ...['http/router', 'http/message', 'contract/record', 'service/http/invalid-headers'],
  ...['records', 'comments', 'conditions', 'patch', 'ids'].map((name) => `service/records/${name}`),
];

for (const [folder, edits] of Object.entries(FEATURES)) {
  test(`doors: the core works without ${folder}/`, { timeout: 300_000 }, async (t) => {
    const copy = new ProjectCopy(t);
    copy.remove(`src/${folder}`);
    for (const [file, before, after = ''] of edits) copy.replace(file, before, after);
    await copy.run('node_modules/.bin/tsc');
    copy.takeBuilt('src/contract/generated.js', 'src/docs/assets', 'src/docs/guides');
    assert.deepEqual(await copy.failuresOf(CORE_TESTS), []);
  });
}
