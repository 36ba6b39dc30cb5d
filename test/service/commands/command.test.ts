// The command as its users meet it: the real launcher in a process of its own.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { helpText } from '../../../src/cli/help.ts';
import { describeVersion } from '../../../src/version.ts';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { contract } from '../../support/contract.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';

const NOTE = { title: 'a', body: 'b' };
const PACKAGE = new URL('../../../../package.json', import.meta.url);

test('command: the ready line is all it prints on standard output', async (t) => {
  // A policy of some platforms: code must not be made of strings.
  const command = startCommand(t, ['--port', '0'], {
    node: ['--disallow-code-generation-from-strings'],
    coverage: true,
  });
  const url = await command.ready();
  assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await request(url, 'GET', '/notes/1')).status, 200);
  assert.equal((await request(url, 'POST', '/notes', { json: { title: 1 } })).status, 422);
  assert.equal((await request(url, 'GET', '/notes?limit=0')).status, 422);
  const { status, stdout, stderr } = await stop(command, 'SIGINT');
  assert.deepEqual({ status, stdout }, { status: 0, stdout: `notes-server listening on ${url}\n` });
  assert.doesNotMatch(stderr, /"level":"error"/);
});

test('command: options come from the environment too', async (t) => {
  const env = {
    ...{ NOTES_PORT: '0', PORT: 'ignored', HOST: '127.0.0.2', NOTES_DB: 'other.db' },
    ...{ NOTES_BODY_LIMIT: '20', NOTES_LOG_LEVEL: 'debug', NOTES_PROT: 'secret' },
  };
  const command = startCommand(t, ['--log-level', 'warn'], { env, coverage: true });
  const url = await command.ready();
  assert.equal(new URL(url).hostname, '127.0.0.2');
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 413);
  assert.ok(readdirSync(command.folder).includes('other.db'));
  // The log warns of unknown variables, without their values.
  const [first = ''] = (await stop(command)).stderr.split('\n');
  const { time: _, ...line } = JSON.parse(first);
  const variables = ['NOTES_PROT; did you mean NOTES_PORT?'];
  assert.deepEqual(line, { level: 'warn', message: 'unknown variables', variables });
});

test('command: one warning names all that Kubernetes sets for a Service', async (t) => {
  const link = 'tcp://10.0.0.1:3000';
  const names = ['NOTES_PORT', 'NOTES_PORT_3000_TCP', 'NOTES_SERVICE_HOST'];
  const env = Object.fromEntries(names.map((name) => [name, link]));
  const reason = 'Kubernetes sets this for a Service (enableServiceLinks: false prevents it)';
  const variables = [`${names.join(', ')}: ${reason}`];
  const service = startCommand(t, ['--port', '0'], { env });
  await service.ready();
  const { stderr, status } = await stop(service);
  const warnings = stderr.split('\n').filter((line) => line.includes('"warn"'));
  assert.deepEqual([status, warnings.length], [0, 1], stderr);
  const { time: _, ...line } = JSON.parse(warnings[0] ?? '');
  assert.deepEqual(line, { level: 'warn', message: 'unknown variables', variables });
  const ending = await runCommand(t, ['key'], { env });
  assert.equal(ending.status, 0);
  assert.equal(ending.stderr, `notes-server: warning: unknown variable ${variables[0]}\n`);
});

test('command: a warning of unknown variables precedes the message of a sub-command', async (t) => {
  const env = { NOTES_API_KEY_FILE: 'secret', 'NOTES_\u001b': '' };
  const warnings =
    'notes-server: warning: unknown variable NOTES_API_KEY_FILE; ' +
    'did you mean NOTES_API_KEYS_FILE?\n' +
    'notes-server: warning: unknown variable NOTES_\\x1b\n';
  for (const [args, status] of [
    [['export', '--db', 'none.db'], 1],
    [['--bogus'], 2],
  ] as const) {
    const ending = await runCommand(t, [...args], { env });
    assert.equal(ending.stderr.slice(0, warnings.length), warnings);
    const stderr = ending.stderr.slice(warnings.length);
    assertRefused({ ...ending, stderr }, status, /none|bogus/);
  }
});

test('command: --help and --version', async (t) => {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
  assert.equal(version, (contract.info as { version: string }).version);
  const commit = describeVersion().slice(version.length);
  assert.match(commit, /^(?: \([0-9a-f]+(?:-dirty)?\))?$/);
  assert.ok(describeVersion().startsWith(version));
  // options.test.ts has the other ways to ask for them.
  for (const [args, stdout] of Object.entries({
    '--help': helpText(),
    'help backup': helpText('backup'),
    '-V': `${describeVersion()}\n`,
  })) {
    const folder = temporaryFolder(t);
    const ending = await runCommand(t, args.split(' '), { folder, coverage: true });
    assert.deepEqual(ending, { status: 0, signal: null, stdout, stderr: '' });
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('command: a usage error is one line without control characters, status 2', async (t) => {
  const folder = temporaryFolder(t);
  const args = ['a\r\n\n b\u001b[31mred\u009b'];
  const ending = await runCommand(t, args, { folder, coverage: true });
  assertRefused(ending, 2, /'a b\\x1b\[31mred\\x9b' \(see --help\)$/m);
  assert.deepEqual(readdirSync(folder), []);
});

test('command: a failed start is one line, status 1', async (t) => {
  const { port } = await startService(t);
  for (const [args, reason] of [
    ['--allow-anonymous --host no-such-host.invalid', /getaddrinfo E\w+ no-such-host\.invalid$/m],
    ['--api-keys-file /nope', /cannot read the keys in \/nope: ENOENT: no such file or directory/m],
    ['--allow-anonymous --host 192.0.2.1', /address not available 192\.0\.2\.1$/m],
    [`--port ${port}`, /already in use 127\.0\.0\.1:\d+: choose another --port$/m],
  ] as const) {
    const parts = { coverage: true };
    assertRefused(await runCommand(t, ['--port=0', ...args.split(' ')], parts), 1, reason);
  }
});

test('command: listens on every address', async (t) => {
  const { url, port } = await startService(t, { host: '0.0.0.0' });
  assert.equal(new URL(url).hostname, '0.0.0.0');
  assert.equal((await request(`http://127.0.0.1:${port}`, 'GET', '/health')).status, 200);
});

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

test('command: listens on ::1, and its problems link there', async (t) => {
  if (!hasIpv6) return skipLoudly(t, 'this machine has no ::1');
  const { url } = await startService(t, { host: '::1' });
  assert.match(url, /^http:\/\/\[::1\]:\d+$/);
  const { type } = (await request(url, 'GET', '/notes/1')).json;
  assert.equal(type, `${url}/problems/not-found`);
  assert.equal((await request(url, 'GET', new URL(type).pathname)).status, 200);
});

test('command: closed output streams print no message', async (t) => {
  const [help, mistake] = [startCommand(t, ['--help']), startCommand(t, ['--bogus'])];
  const service = startCommand(t, ['--port', '0']);
  for (const { process } of [help, service]) process.stdout?.destroy();
  mistake.process.stderr?.destroy();
  const { status, stderr } = await help.ended;
  assert.deepEqual({ status, stderr }, { status: 1, stderr: '' });
  assert.equal((await mistake.ended).status, 2);
  await service.says('"message":"listening"');
  assert.equal((await stop(service)).status, 0);
});
