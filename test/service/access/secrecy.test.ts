// No key appears in what the service prints, logs, counts or answers, nor in its command lines.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { send } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';

const encode = (name: string) => Buffer.from(`:s3cret-${name}`).toString('base64');
/** A key, and what a password begins with that is one. */
const SECRET = new RegExp(`s3cret|${encode('').slice(0, 10)}`);
const LINES = [
  's3cret-reader name=reader access=read',
  's3cret-writer name=writer',
  's3cret-old name=old expires=2020-01-01',
];
const JSON_NOTE = { json: { title: 'a', body: 'b' } };

test('secrecy: no key appears after any kind of refusal', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  writeFileSync(file, LINES.join('\n'));
  const env = { NOTES_API_KEYS: 's3cret-plain' };
  const args = ['--api-keys-file', file, '--rate-limit', '8', '--log-level', 'debug'];
  const service = await startProcesses(t, 2, args, { folder, env });
  const statuses = new Set<number>();
  const ask = async (method: string, path: string, headers: Record<string, string>, parts = {}) => {
    const {
      status,
      headers: sent,
      text,
    } = await send(service.url, method, path, {
      headers,
      ...parts,
    });
    assert.doesNotMatch(text + JSON.stringify(sent), SECRET, `${method} ${path}`);
    statuses.add(status);
    return text;
  };
  const as = (name: string) => ({ authorization: `Bearer s3cret-${name}` });
  for (const name of ['reader', 'writer', 'old', 'plain', 'unknown'])
    for (const headers of [
      as(name),
      { 'x-api-key': `s3cret-${name}` },
      { authorization: `Basic ${encode(name)}` },
    ]) {
      await ask('GET', '/key', headers);
      await ask('POST', '/notes', headers, JSON_NOTE);
    }
  await ask('GET', '/notes', { authorization: 's3cret-plain' });
  await ask('GET', '/notes', { authorization: 'Basic s3cret-plain' });
  await ask('POST', '/notes', { ...as('writer'), 'sec-fetch-site': 'cross-site' }, JSON_NOTE);
  await ask('POST', '/notes', as('writer'), { body: '{' });
  await ask('DELETE', '/nowhere', as('writer'));
  await ask('GET', '/notes', { ...as('writer'), expect: 'a miracle' });
  const metrics = await ask('GET', '/metrics', as('plain'));
  assert.match(metrics, /notes_key_requests_total\{key="reader"\}/);
  for (let count = 0; count < 9; count += 1) await ask('GET', '/notes', as('unknown'));
  assert.deepEqual([...statuses].sort(), [200, 201, 400, 401, 403, 404, 417, 429]);
  for (const line of [
    's3cret-a s3cret',
    's3cret-a name=s3cret s3cret=',
    'name=s3cret',
    's3cr\u00e9t',
  ]) {
    writeFileSync(file, line);
    const kept = service.nextLine(({ message }) => message === 'the old keys stay');
    service.process.kill('SIGHUP');
    assert.doesNotMatch(JSON.stringify(await kept), /s3cr/);
  }
  for (const pid of [service.process.pid, ...service.serving()])
    if (existsSync(`/proc/${pid}/cmdline`))
      assert.doesNotMatch(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), SECRET);
  const { stdout, stderr } = await stop(service);
  assert.match(stderr, /"client":"key old"/);
  assert.doesNotMatch(stdout + stderr, SECRET);
  assert.doesNotMatch(stdout + stderr, /s3cr/);
});

test('secrecy: a wrong line stops the start with its number and the reason', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'keys'), `${LINES.join('\n')}\ns3cret-new acess=s3cret`);
  for (const more of [[], ['--processes', '2']]) {
    const args = ['--port', '0', '--api-keys-file', 'keys', ...more];
    const { status, stdout, stderr } = await runCommand(t, args, { folder });
    assert.deepEqual([status, stdout], [1, '']);
    const reason = 'line 4 of keys: only name=, access=, expires= may follow the key';
    assert.equal(stderr, `notes-server: ${reason}; did you mean access?\n`);
  }
  assert.equal(existsSync(join(folder, 'notes.db')), false);
});
