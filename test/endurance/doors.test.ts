// The doors of the features: on a copy of the project, removes the folder of one and the lines that
// name it. What is left compiles, and passes the tests of the core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectCopy } from '../support/project-copy.ts';
import { sources } from '../support/sources.ts';

/** A text of a file that names a feature, and what takes its place. */
type Edit = readonly [file: string, before: string | RegExp, after?: string];

const APP = 'src/app.ts';
const INDEXES = 'src/commands/indexes.ts';
const MAIN = 'src/main.ts';
const OPEN = 'src/open.ts';
const DATABASES = 'src/cli/option-values.ts';
const BUILD = 'src/build/build.ts';

/** Returns the edits that remove a feature from app.ts: its import, and the line that calls it. */
const without = (name: string, folder = name): readonly Edit[] => [
  [APP, `import { ${name} } from './${folder}/feature.ts';\n`],
  [APP, new RegExp(`.*\\b${name}\\(.*\\n`)],
];

const WITHOUT_EDITS: readonly Edit[] = [
  [APP, "import { edits } from './edits/feature.ts';\n"],
  [APP, '  const edited = edits(core);\n'],
  [APP, '    edited,\n'],
  [APP, 'handlersOf(...args), edited)', 'handlersOf(...args))'],
];

/** What takes the place of the queries and links of lists. */
const WITHOUT_LINKS = `
type ListQuery = Readonly<Record<'limit' | 'offset', number>> &
  Readonly<{ after?: number; before?: number; fields?: readonly string[] }>;
type QueriedParts = object;
const checkListQuery = (..._: unknown[]) => {};
const linkHeader = (url: string, ..._: unknown[]) => ['link', url];
`;

/**
 * The features by folder, and the edits that remove each. Without guards/ nothing would be safe: it
 * cannot be removed, and options, commands and processes know its keys.
 */
const FEATURES: Readonly<Record<string, readonly Edit[]>> = {
  assistants: without('assistants'),
  changes: without('changes'),
  concurrency: without('demonstrations', 'concurrency'),
  docs: [
    ...without('docs'),
    [BUILD, "import { buildDocs } from '../docs/build.ts';\n"],
    [BUILD, /.* buildDocs\(.*\n/],
  ],
  edits: WITHOUT_EDITS,
  'file-guard': [
    [OPEN, "import { fileGuard } from './file-guard/feature.ts';\n"],
    [OPEN, ' = fileGuard;', ' = undefined;'],
  ],
  export: without('exported', 'export'),
  health: without('health'),
  // The triggers go on keeping texts.
  history: [
    [APP, "import { history, keepFor } from './history/feature.ts';\n"],
    [APP, /.* keepFor\(.*\n/],
    [APP, /.* history\(core, .*\n/],
  ],
  lists: [
    ['src/history/kept-pages.ts', /import .* from '..\/lists\/query.ts';\n/, WITHOUT_LINKS],
    [APP, "import { createSlowReads, lists } from './lists/feature.ts';\n"],
    [APP, '  const slow = createSlowReads(core);\n'],
    [APP, 'handlersOf(...args), slow)', 'handlersOf(...args))'],
    [APP, /.*\blists\(.*\n/],
  ],
  // The rest of the folder writes the log of the process itself: its start, its faults, its stop.
  'log/feature.ts': without('requestLog', 'log'),
  memory: without('memory'),
  metrics: [
    ...without('metrics'),
    [MAIN, "  const { combinedMetrics } = await import('./metrics/feature.ts');\n"],
    [MAIN, ', combinedMetrics)', ')'],
  ],
  // A process of its own has other signals, which only main.ts handles.
  processes: [
    [MAIN, "import cluster from 'node:cluster';\n"],
    [MAIN, /.* const isMember = .*\n/],
    [MAIN, 'isMember ? serveAsMember(options) : '],
    [MAIN, 'options.processes > 1 ? await importSupervisor() : '],
    [MAIN, /async function importSupervisor[\s\S]*(?=function createLog)/],
  ],
  names: without('names'),
  // An append can have a key, too.
  'retries and edits': [...WITHOUT_EDITS, ...without('retries')],
  rqlite: [
    [DATABASES, "import { clusterAt } from '../rqlite/feature.ts';\n"],
    [DATABASES, /.* clusterAt\(text\);\n.*\n/],
  ],
  search: [
    ...without('search'),
    [INDEXES, "import { WORD_INDEXES } from '../search/word-indexes.ts';\n"],
    [INDEXES, '...WORD_INDEXES'],
  ],
  tags: without('tags'),
  text: without('texts', 'text'),
  times: without('times'),
};

/** The tests of the core that need no lists: HTTP, the contract at run time, and some writes. */
const TESTS_WITHOUT_LISTS = [
  ...['http/router', 'http/message', 'contract/record', 'service/records/changes'],
  ...['base-url', 'request-ids'].map((name) => `service/http/${name}`),
];

/** The tests of the core, with those of single records, which look at lists, too. */
const CORE_TESTS = [
  ...['http/router', 'http/message', 'contract/record'],
  ...['records', 'comments', 'conditions', 'patch', 'ids'].map((name) => `service/records/${name}`),
];

test('doors: each folder with a door is removed, but guards/ and the core', () => {
  const parts = Object.keys(FEATURES).flatMap((part) => part.split(' and '));
  const rooms = sources.filter(({ path }) => path.endsWith('/feature.ts')).map(({ room }) => room);
  const removed = new Set(parts.map((part) => part.split('/')[0] ?? ''));
  assert.deepEqual([...removed, 'guards', 'records'].sort(), rooms.sort());
});

for (const [part, edits] of Object.entries(FEATURES)) {
  test(`doors: the core works without ${part}`, { timeout: 300_000 }, async (t) => {
    const copy = new ProjectCopy(t);
    for (const folder of part.split(' and ')) copy.remove(`src/${folder}`);
    for (const [file, before, after = ''] of edits) copy.replace(file, before, after);
    await copy.run('node_modules/.bin/tsc');
    copy.takeBuilt('src/contract/generated.js');
    if (part !== 'assistants') copy.takeBuilt('src/assistants/generated.js');
    if (part !== 'docs')
      copy.takeBuilt('src/docs/assets', 'src/docs/guides', 'src/docs/drawings.html');
    const tests = part === 'lists' ? TESTS_WITHOUT_LISTS : CORE_TESTS;
    assert.deepEqual(await copy.failuresOf(tests), []);
  });
}
