// The doors of the features: on a copy of the project, removes the folder of one and the lines that
// name it. What is left compiles, passes the tests of the core, and has nothing of the feature.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOther } from '../support/databases.ts';
import { ProjectCopy } from '../support/project-copy.ts';
import { sources } from '../support/sources.ts';
import { FEATURES, FLAGS, lookAt, removeFeature } from './doors.ts';

/** The folders with tests of the core, and its tests in other folders. */
const CORE_FOLDERS = ['contract', 'http', 'records', 'resources', 'storage'];
const SERVICE_TESTS = [
  ...['raw/malformed', 'raw/mutations'],
  ...['records', 'comments', 'conditions', 'patch', 'ids'].map((name) => `records/${name}`),
];

/** The features without which a test cannot pass. */
const LEFT_OUT: Readonly<Record<string, RegExp>> = {
  // The guard of a file knows its revision.
  'storage/sqlite': /file-guard/,
  // It counts lines of the log.
  'service/raw/malformed': /log/,
  // It compares the build, which the copy has not made.
  'contract/compile': /./,
};

/** Those that look at no lists. */
const SERVICE_TESTS_WITHOUT_LISTS = ['http/base-url', 'http/request-ids', 'records/changes'];

/** Returns what a feature has in the schema and in the metrics, by the texts of its modules. */
function namesOf(part: string) {
  const isInside = (path: string) =>
    part.split(' and ').some((folder) => path.startsWith(`${folder.split('/')[0]}/`));
  const texts = sources.filter(({ path }) => isInside(path)).map(({ lines }) => lines.join('\n'));
  const find = (pattern: RegExp) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => String(name)));
  return {
    tables: find(/^CREATE (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)/gm),
    metrics: find(/\b(notes_\w+): \(/g),
  };
}

/** Returns the tests of the core that need nothing of a feature which the copy lacks. */
function coreTests(copy: ProjectCopy, part: string): string[] {
  const folders = CORE_FOLDERS.flatMap((folder) => copy.testsIn(folder));
  const service = part === 'lists' ? SERVICE_TESTS_WITHOUT_LISTS : SERVICE_TESTS;
  const all = [...folders, ...service.map((name) => `service/${name}`)];
  return all.filter((name) => !LEFT_OUT[name]?.test(part) && copy.hasModulesOf(name));
}

test('doors: each folder with a door is removed, but guards/ and the core', () => {
  const parts = Object.keys(FEATURES).flatMap((part) => part.split(' and '));
  const rooms = sources.filter(({ path }) => path.endsWith('/feature.ts')).map(({ room }) => room);
  const removed = new Set(parts.map((part) => part.split('/')[0] ?? ''));
  assert.deepEqual([...removed, 'guards', 'records'].sort(), rooms.sort());
});

for (const part of Object.keys(FEATURES)) {
  test(`doors: without ${part}, the core works, and nothing is left of it`, {
    timeout: 800_000,
  }, async (t) => {
    const copy = new ProjectCopy(t);
    await removeFeature(copy, part);
    assert.deepEqual(await copy.failuresOf(coreTests(copy, part)), []);
    const { lost, metrics, help } = await lookAt(copy);
    const { tables, metrics: series } = namesOf(part);
    const database = await openOther(t, copy.path('left.db'));
    const schema = await database.run({ sql: 'SELECT name, sql FROM sqlite_schema' });
    const isIn = (text: string) => (name: string) => new RegExp(`\\b${name}\\b`).test(text);
    assert.deepEqual(
      {
        lost,
        tables: tables.filter(isIn(JSON.stringify(schema))),
        metrics: series.filter(isIn(metrics)),
        options: [FLAGS[part]].filter((flag) => flag && help.includes(flag)),
      },
      { lost: [], tables: [], metrics: [], options: [] },
    );
  });
}
