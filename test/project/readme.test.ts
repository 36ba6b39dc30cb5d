// The README agrees with the code: its commands are run, its tables are compared.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { helpText } from '../../src/cli/command-line.ts';
import { exportLines } from '../../src/commands/export.ts';
import { importLines } from '../../src/commands/import.ts';
import { DISPATCH_LIMITS } from '../../src/http/dispatch.ts';
import { problemTypes } from '../../src/http/problem.ts';
import { HTTP_LIMITS } from '../../src/http/server.ts';
import { BATCH_LIMITS } from '../../src/storage/batcher.ts';
import { newFile } from '../support/databases.ts';
import { startService } from '../support/service.ts';
import { root } from '../support/sources.ts';

const readme = readFileSync(new URL('README.md', root), 'utf8');
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** The rows of the table under a heading, each as its cells. */
function rowsUnder(heading: string): string[][] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function codeIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

test('readme: the commands of the tour print what it shows', async (t) => {
  const service = await startService(t);
  const steps = [...readme.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap((match) => (match[1] ?? '').split(/^\$ /m).slice(1))
    .map((step) => step.split('\n').filter((line) => line !== ''));
  assert.ok(steps.length >= 10);
  for (const [command = '', ...shown] of steps) {
    const here = (text: string) => text.replaceAll('http://127.0.0.1:3000', service.url);
    const { stdout } = await promisify(execFile)('sh', ['-c', here(`${command.replace('curl ', 'curl -s ')}`)]);
    assert.equal(stdout.trim(), here(shown.join('\n')), command);
  }
});

test('readme: the options are those of --help', () => {
  assert.ok(readme.includes(`\n\`\`\`text\n${helpText()}\`\`\`\n`));
});

test('readme: the problems with their statuses', () => {
  const listed = rowsUnder('Problems').map(([status, type]) => [codeIn(type)[0], Number(status)]);
  assert.deepEqual(
    listed,
    Object.entries(problemTypes).map(([slug, { status }]) => [slug, status]),
  );
});

test('readme: the packages are exactly the dependencies', () => {
  const listed = rowsUnder('What it is made of').flatMap(([names]) => codeIn(names));
  assert.deepEqual(listed.sort(), Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).sort());
});

test('readme: the metrics are exactly those of the service', async (t) => {
  const { text } = await (await startService(t)).request('GET', '/metrics');
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  assert.ok(names.length > 20);
  // The README describes one of the delays for all.
  const isDelay = (name: string) => /^nodejs_eventloop_delay_\w+$/.test(name);
  assert.deepEqual(
    names.filter((name) => !isDelay(name) && !readme.includes(`\`${name}\``)),
    [],
  );
  const documented = [...readme.matchAll(/`((?:http_server|notes|nodejs|process|v8js)_\w+)[`{]/g)].map(
    ([, name = '']) => name,
  );
  assert.deepEqual(
    documented.filter((name) => !names.includes(name)),
    [],
  );
});

test('readme: the paths of the layout exist', () => {
  const places = rowsUnder('Working on it').flatMap(([place]) => codeIn(place));
  assert.ok(places.length > 10);
  for (const place of places) assert.ok(existsSync(new URL(place, root)), place);
});

test('readme: the limits are those of the code', () => {
  const { headerBytes, headerCount, headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, stalledMs } = HTTP_LIMITS;
  const { connections, closeMs } = HTTP_LIMITS;
  const limits =
    `At most ${headerCount} headers in ${headerBytes / 1024} KiB within ${headersTimeoutMs / 1000} seconds, the whole request within ` +
    `${requestTimeoutMs / 1000}; ${connections.toLocaleString('en')} connections; idle connections are closed after ` +
    `${keepAliveTimeoutMs / 1000} seconds, and those on which an answer makes no headway after ${stalledMs / 1000}.`;
  const prose = readme.replace(/\s+/g, ' ');
  assert.ok(prose.includes(limits), limits);
  assert.ok(prose.includes(`(${closeMs / 1000} seconds at most)`));

  const { waitMs, shortItems, burstItems, burstItemMs } = BATCH_LIMITS;
  const overload =
    `longer than about ${waitMs} ms is 503, so that the rest is answered in time. Fewer than ${shortItems} that wait are never ` +
    `refused, and a burst is taken in: ${burstItems.toLocaleString('en')} more that come at one time are all answered, as many ` +
    `again ${Math.round((burstItems * burstItemMs) / 1000)} seconds later.`;
  assert.ok(prose.includes(overload), overload);
  assert.equal(DISPATCH_LIMITS.heldBackMs, 1_000, 'half a second to one and a half');
});

test('readme: its npm scripts exist', () => {
  for (const [, name = ''] of readme.matchAll(/`npm run ([\w:]+)`/g)) assert.ok(manifest.scripts[name], name);
});

test('readme: the export is imported and exported unchanged', async (t) => {
  const [shown = ''] = /^\{"type":"notes-server"[\s\S]*?\n(?=```)/m.exec(readme) ?? [];
  const storage = { db: newFile(t), dbPassword: undefined, dbPasswordFile: undefined };
  const quiet = { isTerminal: false, write() {} };
  async function* input() {
    yield Buffer.from(shown);
  }
  await importLines(undefined, input(), storage, quiet);
  const parts: string[] = [];
  await exportLines(storage, undefined, async (text) => parts.push(text), quiet);
  assert.equal(parts.join(''), shown);
});
