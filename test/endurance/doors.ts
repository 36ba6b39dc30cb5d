// How each feature is removed from a copy of the project: its folder, and the lines that name it.
import type { ProjectCopy } from '../support/project-copy.ts';

/** A text of a file that names a feature, and what takes its place. */
export type Edit = readonly [file: string, before: string | RegExp, after?: string];

const APP = 'src/app.ts';
const BUILD = 'src/build/build.ts';
const COMMANDS = 'src/cli/commands.ts';
const DATABASES = 'src/cli/option-values.ts';
const HISTORY = 'src/history/schema.ts';
const INDEXES = 'src/commands/indexes.ts';
const METRICS = 'src/metrics/snapshot.ts';
const OPTIONS = 'src/cli/options.ts';
const STEPS = 'src/storage/schema/steps.ts';
const WRITES = 'src/history/writes.ts';
const MAIN = 'src/main.ts';
const OPEN = 'src/open.ts';

/** Returns the edits that remove a feature from app.ts: its import, and the line that calls it. */
const without = (name: string, folder = name): readonly Edit[] => [
  [APP, `import { ${name} } from './${folder}/feature.ts';\n`],
  [APP, new RegExp(`.*\\b${name}\\(.*\\n`)],
];

/** Returns the edits that remove the part of a feature from the schema. */
const withoutPart = (name: string, folder: string): readonly Edit[] => [
  [STEPS, `import { ${name} } from '../../${folder}/schema.ts';\n`],
  [STEPS, `, ${name}`],
];

/** Returns the edits that remove an option: its declaration, and its member in the library. */
const withoutOption = (name: string, member = name): readonly Edit[] => [
  ['src/cli/option-table.ts', new RegExp(`(?: {2}/\\*\\*.*\\n)? {2}${name}: \\{[^]*?\\},\\n`)],
  ['src/library.ts', new RegExp(`.*\\b${member}\\?:.*\\n`)],
];

/** Returns the edits that remove the texts of metrics. */
const withoutMetrics = (...names: readonly string[]) =>
  names.map((name): Edit => [METRICS, new RegExp(`.*\\b${name}:.*\\n`)]);

const WITHOUT_EDITS: readonly Edit[] = [
  [APP, "import { edits } from './edits/feature.ts';\n"],
  [APP, '  const edited = edits(core);\n'],
  [APP, '    edited,\n'],
  [APP, 'names(core, edited)', 'names(core)'],
];

/** What takes the place of the queries and links of lists. */
const WITHOUT_LINKS = `
type ListQuery = Readonly<Record<'limit' | 'offset', number>> &
  Readonly<{ after?: number; before?: number; fields?: readonly string[] }>;
type QueriedParts = object;
const checkListQuery = (..._: unknown[]) => {};
const linkHeader = (url: string, ..._: unknown[]) => ['link', url];
`;

/** What erases a note at its deletion, if nothing keeps it. */
const ERASE = `  INSERT INTO erased_records (type, id) VALUES ('note', old.id);\n`;

/**
 * The features by folder, and the edits that remove each. Without guards/ nothing would be safe: it
 * cannot be removed, and options, commands and processes know its keys.
 */
export const FEATURES: Readonly<Record<string, readonly Edit[]>> = {
  assistants: [
    ...without('assistants'),
    ...withoutOption('noMcp'),
    ...withoutMetrics('notes_tool_calls_total'),
  ],
  changes: without('changes'),
  concurrency: [
    ...without('demonstrations', 'concurrency'),
    ...withoutOption('maxThreads'),
    ['src/cli/option-table.ts', /\/\*\* The largest demonstration.*\n.*\n\n/],
    [OPTIONS, ' MIN_THREADS,'],
    [OPTIONS, /.*\n {2}readonly maxThreads: .*\n/],
    [OPTIONS, ' maxThreads,'],
    [OPTIONS, / {4}maxThreads: .*\n/],
    ...withoutMetrics(
      ...['notes_threads_live', 'notes_threads_standby', 'notes_demonstrations_waiting'],
    ),
  ],
  docs: [
    [APP, "import { docs } from './docs/feature.ts';\n"],
    [APP, /.*\n {2}const documentation = .*\n/],
    [APP, '    documentation,\n'],
    [BUILD, "import { buildDocs } from '../docs/build.ts';\n"],
    [BUILD, /.* buildDocs\(.*\n/],
  ],
  edits: WITHOUT_EDITS,
  'file-guard': [
    [OPEN, "import { fileGuard } from './file-guard/feature.ts';\n"],
    [OPEN, ' = fileGuard;', ' = undefined;'],
  ],
  export: without('exported', 'export'),
  health: [
    ...without('health'),
    [APP, '  let isStopping = false;\n'],
    [APP, '    isStopping = true;\n'],
  ],
  // Deleted notes are erased at once. Nothing removes what they owned, which nobody can reach.
  history: [
    [APP, "import { history, keepFor } from './history/feature.ts';\n"],
    [APP, /.* keepFor\(.*\n/],
    [APP, /.* history\(core, .*\n/],
    ...withoutPart('keptOfNotes', 'history'),
    ['src/storage/schema/records.ts', /(?<='note\.deleted', old\.id\);\n)(?=END)/, ERASE],
    ...withoutOption('historyDays'),
  ],
  lists: [
    ['src/history/kept-pages.ts', /import .* from '..\/lists\/query.ts';\n/, WITHOUT_LINKS],
    [APP, "import { createSlowReads, lists } from './lists/feature.ts';\n"],
    [APP, '  const slow = createSlowReads(core);\n'],
    [APP, 'history(core, slow)', 'history(core)'],
    [APP, /.*const listed = .*\n.*\n/, '  return [...added, records(core, added)];\n'],
  ],
  // The rest of the folder writes the log of the process itself: its start, its faults, its stop.
  'log/feature.ts': without('requestLog', 'log'),
  memory: [
    ...without('memory'),
    ...withoutOption('cacheSizeMib', 'cacheSize'),
    ['src/library.ts', '  /** In MiB. */\n'],
    ...withoutMetrics('notes_cache_lookups_total', 'notes_cache_bytes'),
  ],
  metrics: [
    ...without('metrics'),
    ...withoutOption('noMetrics'),
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
  // The trash has the name of a note, which comes back with it.
  names: [
    ...without('names'),
    ...withoutPart('namesOfNotes', 'names'),
    [HISTORY, '  name TEXT,\n'],
    [HISTORY, ' (SELECT name FROM note_names WHERE note_id = old.id),\n     '],
    [HISTORY, " name: 'name',"],
    ['src/history/kept.ts', "    { name: 'name', sql: 'name' },\n"],
    [WRITES, /.*\bname: `[^`]*`,\n/],
    ['src/resources/notes.ts', /.*names: .*\n/],
    [WRITES, "'note_names'", 'notes.table'],
  ],
  // An append can have a key, too.
  'retries and edits': [
    ...WITHOUT_EDITS,
    ...without('retries'),
    ...withoutPart('answers', 'retries'),
  ],
  rqlite: [
    [DATABASES, "import { clusterAt } from '../rqlite/feature.ts';\n"],
    [DATABASES, /.* clusterAt\(text\);\n.*\n/],
  ],
  search: [
    ...without('search'),
    ...withoutPart('searchIndex', 'search'),
    [INDEXES, "import { WORD_INDEXES } from '../search/word-indexes.ts';\n"],
    [INDEXES, '...WORD_INDEXES'],
    ['src/resources/notes.ts', /.*search: .*\n/],
  ],
  sync: [
    [COMMANDS, "import { sync } from '../sync/feature.ts';\n"],
    [COMMANDS, '  sync,\n'],
  ],
  // The trash has the tags of a note, which come back with it.
  tags: [
    ...without('tags'),
    ...withoutPart('tagsOnNotes', 'tags'),
    [HISTORY, /.*tag_ids TEXT.*\n.*\n/],
    [HISTORY, /,\n.*FROM note_tags WHERE note_id = old\.id\)/],
    [HISTORY, " tag_ids: 'ids',"],
    [WRITES, /.*\btags: `[^`]*`,\n/],
    [WRITES, /\/\*\* The number of tags.*\n.*\n\n/],
    [WRITES, '[TAGS]', '[]'],
  ],
  text: without('texts', 'text'),
  times: without('times'),
};

/** The options of features. */
export const FLAGS: Readonly<Record<string, string>> = {
  assistants: '--no-mcp',
  concurrency: '--max-threads',
  history: '--history-days',
  memory: '--cache-size',
  metrics: '--no-metrics',
};

/** Removes a feature, or several that go together, from the copy; what is left must compile. */
export async function removeFeature(copy: ProjectCopy, part: string): Promise<void> {
  for (const folder of part.split(' and ')) copy.remove(`src/${folder}`);
  for (const [file, before, after = ''] of FEATURES[part] ?? []) copy.replace(file, before, after);
  await copy.run('node_modules/.bin/tsc');
  copy.takeBuilt('src/contract/generated.js');
  if (part !== 'assistants') copy.takeBuilt('src/assistants/generated.js');
  if (part !== 'docs')
    copy.takeBuilt('src/docs/assets', 'src/docs/guides', 'src/docs/drawings.html');
}

/** Starts the service of the copy; prints what it serves. */
const LOOK = `
import { createApp } from './dist/src/library.js';
const app = createApp({ db: 'left.db' });
const url = await app.listen();
const lost = [];
const request = async (path, method) => {
  const headers = { accept: 'application/json' };
  const answer = await fetch(url + path, { method, headers, redirect: 'manual' });
  return { status: answer.status, text: await answer.text() };
};
const metrics = await request('/metrics', 'GET');
const description = await request('/openapi.json', 'GET');
const { paths } = description.status === 200 ? JSON.parse(description.text) : { paths: {} };
for (const [path, item] of Object.entries(paths))
  for (const method of Object.keys(item).filter((name) => name !== 'parameters')) {
    const answer = await request(path.replace(/{.*?}/g, '1'), method.toUpperCase());
    const isMissing = answer.status === 404 && answer.text.includes('nothing at this path');
    if (isMissing || answer.status === 405 || answer.status >= 500)
      lost.push([method, path, answer.status].join(' '));
  }
await app.close();
console.log(JSON.stringify({ lost, count: Object.keys(paths).length, metrics: metrics.text }));
`;

/** Resolves with what the service of the copy has and says. */
export async function lookAt(copy: ProjectCopy) {
  copy.write('look.mjs', LOOK);
  const served: { lost: string[]; count: number; metrics: string } = JSON.parse(
    await copy.run(process.execPath, 'look.mjs'),
  );
  return { ...served, help: await copy.run(process.execPath, 'bin/notes-server', '--help') };
}
