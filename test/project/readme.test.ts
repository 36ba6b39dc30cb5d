// The README and the guides agree with the code: their commands are run, their tables are compared.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tools } from '../../src/assistants/generated.js';
import { usageOf } from '../../src/cli/arguments.ts';
import { SUB_COMMANDS } from '../../src/cli/commands.ts';
import { type Declaration, OPTIONS } from '../../src/cli/option-table.ts';
import { problems } from '../../src/contract/generated.js';
import { MAX_NESTING_LEVELS, MAX_PARTS } from '../../src/http/body/json.ts';
import { DISPATCH_LIMITS, HTTP_LIMITS } from '../../src/http/limits.ts';
import { SLOW_READ_LIMITS } from '../../src/lists/slow-reads.ts';
import { CLUSTER_LIMITS } from '../../src/rqlite/cluster.ts';
import { SNIPPET_LIMITS } from '../../src/search/snippets.ts';
import { BATCH_LIMITS } from '../../src/storage/batcher.ts';
import { MAX_LARGE_PAGE_BYTES, MAX_PAGE_BYTES } from '../../src/storage/database.ts';
import { newFile } from '../support/databases.ts';
import { temporaryFolder } from '../support/engine.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { killGroup } from '../support/processes.ts';
import { expected } from '../support/records.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { root } from '../support/sources.ts';
import { until } from '../support/until.ts';
import {
  addressed,
  codeBlocks,
  codeIn,
  DOCUMENTS,
  guide,
  inShell,
  proseOf,
  sectionOf,
  tablesIn,
  textOf,
} from './documents.ts';

const readme = textOf('README.md');
const manifest = JSON.parse(textOf('package.json'));

test('readme: the number of deliberate faults is about right', () => {
  const faults = textOf('test/endurance/faults.txt').match(/^ {2}\S/gm)?.length ?? 0;
  assert.ok(readme.includes(`[${Math.floor(faults / 100) * 100} deliberate faults]`), `${faults}`);
});

for (const [name, text] of [
  ['readme', readme],
  ['scripting', guide('scripting')],
  ['folder', guide('folder')],
  ['assistants', guide('assistants')],
  ['threads', guide('threads')],
  ['finding notes', guide('finding-notes')],
  ['safe writes', guide('safe-writes')],
  ['following changes', guide('following-changes')],
  ['undoing', guide('undoing')],
] as const) {
  test(`${name}: the commands of the tour print what it shows`, async (t) => {
    const service = await startService(t);
    const steps = codeBlocks(addressed(text, service.url), 'console')
      .flatMap((block) => block.split(/^\$ /m).slice(1))
      .map((step) => step.trimEnd().split('\n'));
    assert.ok(steps.length > 0);
    const options = { cwd: root, env: { ...process.env, HOME: temporaryFolder(t) } };
    const timeless = (printed: string) =>
      printed
        .trim()
        .replace(/ \d+ ms\)/g, ' ms)')
        .replace(/\d{4}-\d\d-\d\d/g, 'DAY');
    // Several files are worked on at the same time.
    const linesOf = (command: string, printed: string) =>
      command.includes(' sync ') ? timeless(printed).split('\n').sort() : timeless(printed);
    for (const [command = '', ...shown] of steps) {
      const { stdout } = await inShell('sh', command.replace('curl ', 'curl -s '), options);
      assert.deepEqual(linesOf(command, stdout), linesOf(command, shown.join('\n')), command);
    }
  });
}

test('assistants: the table has all tools, and says which ones only read', () => {
  const [rows = []] = tablesIn(sectionOf(guide('assistants'), 'What it can do'));
  const listed = rows.map(([tool, , reads]) => [codeIn(tool)[0], reads]);
  const known = tools.map(({ listing: { name, annotations } }) => {
    return [name, annotations.readOnlyHint ? 'yes' : 'no'];
  });
  assert.deepEqual(listed, known);
});

/** The programs of the guide to finding notes, each with what it prints. */
const PROGRAMS = {
  sh: ['sh', '-c', '"title":"Bread".*"title":"東京".*"title":"Milk"'],
  js: [process.execPath, '--eval', '^\\[Milk\\], bread\n$'],
} as const;

for (const [language, [command, option, printed]] of Object.entries(PROGRAMS)) {
  test(`finding notes: the program in ${language} works`, async (t) => {
    if (spawnSync(command, [option, '']).error) return skipLoudly(t, `there is no ${command} here`);
    const { url, request } = await startService(t);
    for (const [title, body] of [
      ['Milk', 'Milk, bread'],
      ['東京', 'スカイツリー'],
      ['Bread', 'Flour'],
    ])
      await request('POST', '/notes', { json: { title, body } });
    const [program = ''] = codeBlocks(addressed(guide('finding-notes'), url), language);
    const cwd = temporaryFolder(t);
    const { stdout } = await promisify(execFile)(command, [option, program], { cwd });
    assert.match(stdout, new RegExp(printed));
    // Nobody listens there.
    const unheard = program.replaceAll(url, 'http://127.0.0.1:1');
    await assert.rejects(promisify(execFile)(command, [option, unheard], { cwd }));
  });
}

test('safe writes: the commands of the guide work', async (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipLoudly(t, 'there is no jq here');
  const { url, request } = await startService(t);
  await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'notes.json'), '[{"title":"c","body":"d"},{"title":"e","body":"f"}]');
  const blocks = codeBlocks(addressed(guide('safe-writes'), url), 'sh');
  assert.equal(blocks.length, 7);
  for (const block of blocks)
    await inShell('sh', `set -e\n${block.replaceAll('curl ', 'curl --fail ')}`, { cwd });
  const { items } = (await request('GET', '/notes')).json as { items: { title: string }[] };
  assert.deepEqual(
    items.map(({ title }) => title),
    ['Shopping', 'Books', 'c', 'e'],
  );
  const listed = JSON.parse(readFileSync(join(cwd, 'list.json'), 'utf8'));
  assert.deepEqual(listed.items, [expected({ id: 1, title: 'Shopping', body: 'b' })]);
});

test('following changes: the commands of the guide work', async (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipLoudly(t, 'there is no jq here');
  const { url } = await startService(t);
  const blocks = codeBlocks(addressed(guide('following-changes'), url), 'sh');
  const commands = blocks.filter((block) => !block.startsWith('#!'));
  assert.equal(commands.length, 3);
  const args = ['-e', '-c', commands.join('\n').replaceAll('curl ', 'curl --fail ')];
  const running = spawn('sh', args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  running.stdout.setEncoding('utf8').on('data', (part) => {
    printed += part;
  });
  // The last command goes on until it is killed.
  const isOver = () => running.exitCode !== null;
  await until(() => /\ndata: .*\n\n$/.test(printed) || isOver());
  assert.equal(running.exitCode, null, printed);
  killGroup(running);
  const record = expected({ id: 1, title: 'Books', body: 'Emma' });
  const [cursor = ''] = /\w{8}-0/.exec(printed) ?? [];
  const id = cursor.replace('-0', '-1');
  const [, at = ''] = /"at":"([^"]*)"/.exec(printed) ?? [];
  const change = { id, type: 'note.created', at, note_id: 1 };
  const event = `id: ${id}\nevent: note.created\ndata: ${JSON.stringify(change)}\n\n`;
  assert.equal(
    printed,
    [
      JSON.stringify({ items: [], next: cursor, more: false }),
      JSON.stringify(record),
      JSON.stringify({ items: [{ ...change, record }], next: id, more: false }),
      `: changes\nretry: 3000\n${event}`,
    ].join(''),
  );
});

for (const [language, script] of [
  ['sh', 'changes.sh'],
  ['js', 'changes.mjs'],
  ['python', 'changes.py'],
]) {
  test(`following changes: the guide shows ${script}`, () => {
    const isShown = guide('following-changes').includes(
      `\n\`\`\`${language}\n${textOf(`test/service/clients/${script}`)}\`\`\`\n`,
    );
    assert.ok(isShown, `paste ${script} into src/docs/guides/following-changes.md`);
  });
}

test('readme: its options exist', () => {
  const [listed = []] = tablesIn(sectionOf(readme, 'Options'));
  const known = Object.values(OPTIONS).map(usageOf);
  assert.ok(listed.length > 0);
  for (const [option] of listed) assert.ok(known.includes(codeIn(option)[0] ?? ''), option);
});

/** Returns the row of an option in its guide, as `--help` describes it. */
function rowOf({ flag, variable, ...declared }: Declaration): string[] {
  const [, meaning = '', inWords = 'none'] =
    /^(.*?)(?: \(default: (.*)\))?$/.exec(declared.help) ?? [];
  const value = declared.value === undefined ? 'false' : declared.default;
  const variables = [`NOTES_${flag.toUpperCase().replaceAll('-', '_')}`, variable];
  const codes = variables.filter(Boolean).map((name) => `\`${name}\``);
  return [
    `\`${usageOf({ flag, ...declared })}\``,
    meaning,
    value ? `\`${value}\`` : inWords,
    codes.join(', '),
  ];
}

test('options: the guide has a row for each option and each command', () => {
  const [options, commands] = tablesIn(guide('options'));
  const wanted = SUB_COMMANDS.map(({ name, operand, help }) => [
    `\`${[name, operand].filter(Boolean).join(' ')}\``,
    help,
  ]);
  const file = 'src/docs/guides/options.md';
  assert.deepEqual({ [file]: options }, { [file]: Object.values(OPTIONS).map(rowOf) });
  assert.deepEqual({ [file]: commands }, { [file]: wanted });
});

test('problems: the table has all types with status and meaning', () => {
  const [listed = []] = tablesIn(guide('problems'));
  const rows = listed.map(([status, type, meaning]) => [Number(status), codeIn(type)[0], meaning]);
  const wanted = problems.map(({ slug, status, meaning }) => [status, slug, meaning]);
  assert.deepEqual(
    { 'src/docs/guides/problems.md': rows },
    { 'src/docs/guides/problems.md': wanted },
  );
});

test('releasing: the packages are exactly the dependencies', () => {
  const [rows = []] = tablesIn(sectionOf(guide('releasing'), 'Dependencies'));
  const listed = rows.flatMap(([names]) => codeIn(names));
  const wanted = { ...manifest.dependencies, ...manifest.devDependencies };
  assert.deepEqual(listed.sort(), Object.keys(wanted).sort());
});

test('metrics: the guide has exactly those of the service', async (t) => {
  const { text } = await (await startService(t)).request('GET', '/metrics');
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  assert.ok(names.length > 20);
  const metrics = guide('metrics');
  // The guide describes one of the delays for all.
  const isDelay = (name: string) => /^nodejs_eventloop_delay_\w+$/.test(name);
  const missing = names.filter((name) => !isDelay(name) && !metrics.includes(`\`${name}\``));
  assert.deepEqual(missing, []);
  const documented = [...metrics.matchAll(/`((?:http_server|notes|nodejs|process|v8js)_\w+)[`{]/g)];
  const unknown = documented.map(([, name = '']) => name).filter((name) => !names.includes(name));
  assert.deepEqual(unknown, []);
});

test('operation: the limits are those of the code', () => {
  const { headerBytes, headerCount, headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs } =
    HTTP_LIMITS;
  const { connections, closeMs, stalledMs, checkIntervalMs, waitingBytes } = HTTP_LIMITS;
  const { bytesPerMs, slowRequestMs } = HTTP_LIMITS;
  const { bodiesBytes, largeBodyBytes, largeReplyCharacters, repliesBytes, streams } =
    DISPATCH_LIMITS;
  const { largePageBytes, replyWaitMs, waitingReplies } = DISPATCH_LIMITS;
  const { burstMs, waitMs, guaranteedItems, lateMs } = BATCH_LIMITS;
  const [KiB, MiB, s] = [1_024, 1_048_576, 1_000];
  const prose = proseOf(guide('operation'));
  for (const phrase of [
    `request line and headers: ${headerBytes / KiB} KiB, ${headerCount} headers`,
    `headers within ${headersTimeoutMs / s} s, ` +
      `the whole request within ${requestTimeoutMs / s} s, ` +
      `or ${slowRequestMs / s} s if it keeps arriving at ${bytesPerMs} KB/s`,
    `${connections.toLocaleString('en')} open connections`,
    `an idle connection: ${keepAliveTimeoutMs / s} s (\`--idle-timeout\`)`,
    `no progress: ${stalledMs / s} s, noticed after ` +
      `${Math.ceil((2 * stalledMs + checkIntervalMs) / s)} s at the latest`,
    `${MAX_NESTING_LEVELS.toLocaleString('en')} levels; ` +
      `${MAX_PARTS.toLocaleString('en')} arrays, objects and members`,
    `with a body over ${largeBodyBytes / KiB} KiB, or that arrives in parts | ` +
      `${bodiesBytes / MiB} MiB for all such bodies`,
    `${waitingBytes / MiB} MiB for all such requests`,
    `a list over ${MAX_PAGE_BYTES / MiB} MiB | ${largePageBytes / MiB} MiB of the memory for ` +
      `answers, for which ${waitingReplies} lists may wait ${replyWaitMs / s} s`,
    `a list over ${MAX_LARGE_PAGE_BYTES / MiB} MiB`,
    `an answer over ${largeReplyCharacters / KiB} KiB | ${repliesBytes / MiB} MiB for all`,
    `${SLOW_READ_LIMITS.waitMs / s} s of waiting for others ` +
      `(${CLUSTER_LIMITS.clusterMs / s} s on a cluster); ` +
      `${SLOW_READ_LIMITS.waiting} may wait, ${SLOW_READ_LIMITS.waiting / 2} of one client`,
    `${streams.toLocaleString('en')} streams (\`notes_streams_open\``,
    `(${closeMs / s} seconds at most)`,
    `longer than ${waitMs} ms`,
    `may wait for ${burstMs / s} second`,
    `The latest ${guaranteedItems} may wait for ${lateMs / s} seconds`,
  ]) {
    assert.ok(prose.includes(phrase), phrase);
  }
  assert.equal(DISPATCH_LIMITS.heldBackMs, 1_000, 'half a second to one and a half');
});

test('finding notes: as much text is searched for snippets as the code says', () => {
  assert.equal(SNIPPET_LIMITS.characters, 1_000_000);
  assert.ok(proseOf(guide('finding-notes')).includes('up to one million characters of a page'));
});

test('finding notes: the tables have all filters, and all that include adds', () => {
  const { parameters } = JSON.parse(textOf('schemas/openapi.json')).components;
  for (const [heading, isListed] of [
    ['Filters', /^(?:Untagged|SearchText|.*Filter|(?:Created|Updated)(?:After|Before))$/],
    ['Additional members', /^(?:Note|Tag|Comment).*Include$/],
  ] as const) {
    const keys = Object.keys(parameters).filter((key) => isListed.test(key));
    const known = keys.map((key) => parameters[key]);
    const wanted = known.flatMap(({ name, schema }) => schema.items?.enum ?? name);
    const [rows = []] = tablesIn(sectionOf(guide('finding-notes'), heading));
    const codes = rows.flatMap(([cell]) => codeIn(cell));
    const listed = codes.flatMap((code) => code.match(/\w+(?==)|^\w+$/g));
    assert.deepEqual(new Set(listed), new Set(wanted));
  }
});

test('documents: their npm scripts exist', () => {
  const found = DOCUMENTS.flatMap((path) => [...textOf(path).matchAll(/`npm run ([\w:-]+)/g)]);
  assert.ok(found.length > 3);
  for (const [, name = ''] of found) assert.ok(manifest.scripts[name], name);
});

test('documents: relative links lead to files and headings', () => {
  const links = [...DOCUMENTS, 'SECURITY.md', 'CHANGELOG.md'].flatMap((path) =>
    [...withoutCode(textOf(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => ({
      path,
      link,
    })),
  );
  const relative = links.filter(({ link }) => !/^[a-z]+:/.test(link));
  assert.ok(relative.length > 20);
  for (const { path, link } of relative) {
    const [file = '', heading] = link.split('#');
    const target = file === '' ? path : posix.join(posix.dirname(path), file);
    assert.ok(existsSync(new URL(target, root)), `${path}: ${link}`);
    if (heading !== undefined)
      assert.ok(headingsOf(textOf(target)).includes(heading), `${path}: ${link}`);
  }
});

/** Returns a text without its blocks of code, whose lines may look like headings and links. */
function withoutCode(text: string): string {
  return text.replace(/^ *```.*?^ *```$/gms, '');
}

/** Returns the fragments that lead to the headings of a text. */
function headingsOf(text: string): string[] {
  const titles = [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title.toLowerCase(),
  );
  return titles.map((title) => title.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
}

test('backups: the export is imported and exported unchanged', async (t) => {
  const [shown = ''] = /^\{"type":"notes-server"[\s\S]*?\n(?=```)/m.exec(guide('backups')) ?? [];
  const db = newFile(t);
  await runInProcess(['import', '--db', db], { input: shown });
  const text = await exported(db);
  // A resource without records need not be in the guide.
  const unlisted = (member: string, count: string) => (shown.includes(count) ? member : '');
  assert.equal(text.replace(/,("\w+":0)/g, unlisted), shown);
});

test('backups: the commands of an export over HTTP work', async (t) => {
  const { url, request } = await startService(t);
  await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  const section = addressed(sectionOf(guide('backups'), '`GET /export`'), url);
  const [commands = ''] = codeBlocks(section, 'sh');
  const { stdout } = await inShell('sh', `set -e\n${commands}`, { cwd: temporaryFolder(t) });
  assert.equal(stdout, '{"type":"end","records":1}\n');
});
