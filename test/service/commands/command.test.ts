// The command as its users meet it: the real launcher in a process of its own.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { helpText } from '../../../src/command-line.ts';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { contract } from '../../support/contract.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { openSocket } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

/** Whether something accepts connections at the port. */
const isAccepting = (service: { readonly port: number }) =>
  openSocket(service).then(
    (socket) => Boolean(socket.destroy()),
    () => false,
  );

test('the ready line is all that is printed on standard output', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  const { status, stdout } = await stop(command);
  assert.deepEqual({ status, stdout }, { status: 0, stdout: `notes-server listening on ${url}\n` });
});

test('the options arrive from the environment too', async (t) => {
  const env = { NOTES_PORT: '0', NOTES_DB: 'other.db', HOST: '127.0.0.2', NOTES_BODY_LIMIT: '20', PORT: 'ignored' };
  const command = startCommand(t, ['--log-level', 'silent'], { env: { ...env, NOTES_LOG_LEVEL: 'debug' } });
  const url = await command.ready();
  assert.equal(new URL(url).hostname, '127.0.0.2');
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 413);
  assert.ok(readdirSync(command.folder).includes('other.db'));
  assert.equal((await stop(command)).stderr, '');
});

test('--help and --version print to standard output and end well', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'));
  const expected = { '--help': helpText(), '-h': helpText(), '--version': `${version}\n` };
  for (const [flag, stdout] of Object.entries(expected)) {
    const folder = temporaryFolder(t);
    assert.deepEqual(await runCommand(t, [flag], { folder }), { status: 0, signal: null, stdout, stderr: '' });
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('the version is that of the contract', async (t) => {
  const { stdout } = await runCommand(t, ['--version']);
  assert.equal(stdout.trim(), (contract.info as { version: string }).version);
});

const USAGE_ERRORS: readonly (readonly [string, string[], RegExp])[] = [
  ['an unknown flag', ['--bogus'], /'--bogus'/],
  ['an argument without a flag', ['notes.db'], /'notes\.db'/],
  ['an argument with line breaks', ['a\r\n\n b'], /'a b'/],
  ['an argument that a terminal would obey', ['\u001b[31mred\u009b'], /'\\x1b\[31mred\\x9b'/],
  ['a flag without its value', ['--db'], /'--db/],
  ['a wrong value', ['--port', 'http'], /--port takes a whole number from 0 to 65535, not "http"/],
  ['a value that looks like a flag', ['--port', '-1'], /'--port'/],
  ['a reachable address without leave', ['--host', '0.0.0.0'], /--allow-anonymous/],
];

for (const [what, args, reason] of USAGE_ERRORS) {
  test(`${what} is told in one line, with exit status 2`, async (t) => {
    const folder = temporaryFolder(t);
    assertRefused(await runCommand(t, args, { folder }), 2, reason);
    assert.deepEqual(readdirSync(folder), []);
  });
}

test('a wrong variable is told in one line, with exit status 2', async (t) => {
  assertRefused(await runCommand(t, [], { env: { NOTES_LOG_LEVEL: 'loud' } }), 2, /--log-level .* not "loud"/);
});

/** Starts that fail; each may prepare something and returns its arguments. */
const FAILURES: Record<string, [(t: TestContext) => Promise<string[]> | string[], RegExp]> = {
  'a port in use': [
    async (t) => ['--port', String((await startService(t)).port)],
    /127\.0\.0\.1:\d+ is in use by another process/,
  ],
  'an unknown host name': [() => ['--allow-anonymous', '--host', 'no-such-host.invalid'], /host name is not known/],
  'an address of another machine': [() => ['--allow-anonymous', '--host', '192.0.2.1'], /has no address 192\.0\.2\.1/],
  'a database in a folder that does not exist': [() => ['--db', 'missing/notes.db'], /missing\/notes\.db: .*folder/],
  'a folder as the database': [() => ['--db', '.'], /cannot open the database \./],
  'a file that is no database': [
    (t) => {
      const file = join(temporaryFolder(t), 'notes.txt');
      writeFileSync(file, 'Milk, bread, apples\n'.repeat(100));
      return ['--db', file];
    },
    /notes\.txt: it is no SQLite file/,
  ],
};

for (const [what, [prepare, reason]] of Object.entries(FAILURES)) {
  test(`${what} is told in one line, with exit status 1`, async (t) => {
    assertRefused(await runCommand(t, ['--port', '0', ...(await prepare(t))]), 1, reason);
  });
}

test('with --allow-anonymous it listens on every address', async (t) => {
  const command = startCommand(t, ['--port', '0', '--host', '0.0.0.0', '--allow-anonymous']);
  const url = await command.ready();
  assert.equal(new URL(url).hostname, '0.0.0.0');
  const answer = await request(`http://127.0.0.1:${new URL(url).port}`, 'GET', '/health');
  assert.equal(answer.text, '{"status":"ok","db":"ok"}');
  assert.equal((await stop(command)).status, 0);
});

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

test('it listens on ::1, and its problems lead there', async (t) => {
  if (!hasIpv6) return skipLoudly(t, 'this machine has no ::1');
  const command = startCommand(t, ['--port', '0', '--host', '::1']);
  const url = await command.ready();
  assert.match(url, /^http:\/\/\[::1\]:\d+$/);
  const { type } = JSON.parse((await request(url, 'GET', '/notes/1')).text);
  assert.equal(type, `${url}/problems/not-found`);
  assert.equal((await request(url, 'GET', new URL(type).pathname)).status, 200);
  assert.equal((await stop(command)).status, 0);
});

test('nobody reading what it prints is no reason to stop, nor for a stack trace or another status', async (t) => {
  const help = startCommand(t, ['--help']);
  help.process.stdout?.destroy();
  const { status, stderr } = await help.ended;
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  const mistake = startCommand(t, ['--bogus']);
  mistake.process.stderr?.destroy();
  assert.equal((await mistake.ended).status, 2);

  const former = await startService(t);
  await former.close();
  const command = startCommand(t, ['--port', String(former.port)]);
  command.process.stdout?.destroy();
  await until(() => isAccepting(former));
  assert.equal((await request(former.url, 'GET', '/health')).status, 200);
  assert.equal((await stop(command)).status, 0);
});

test('it runs where code must not be made of strings', async (t) => {
  const command = startCommand(t, ['--port', '0'], { node: ['--disallow-code-generation-from-strings'] });
  const url = await command.ready();
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await request(url, 'GET', '/notes/1')).status, 200);
  assert.equal((await request(url, 'POST', '/notes', { json: { title: 1 } })).status, 422);
  assert.equal((await request(url, 'GET', '/notes?limit=0')).status, 422);
  const { status, stderr } = await stop(command);
  assert.equal(status, 0);
  assert.doesNotMatch(stderr, /"level":"error"/);
});
