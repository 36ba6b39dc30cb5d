// The service on a Unix socket: who may connect, what an earlier process left, what is local.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareSocketPath } from '../../../src/cli/socket-path.ts';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { unprivileged } from '../../support/unprivileged.ts';

const BASE = 'http://localhost';
const NOTE = { json: { title: 'a', body: 'b' } };
const SOCKET = ['--socket', 'notes.sock'];

test('socket: owner and group may connect, and a stop removes it', async (t) => {
  const command = startCommand(t, SOCKET, { coverage: true, env: { HOST: '0.0.0.0', PORT: '1' } });
  assert.equal(await command.ready(), 'unix:notes.sock');
  const socketPath = join(command.folder, 'notes.sock');
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  assert.equal((await request(BASE, 'POST', '/notes', { ...NOTE, socketPath })).status, 201);
  const { json } = await request(BASE, 'GET', '/notes/2', { socketPath });
  assert.equal(json.type, 'http://localhost/problems/not-found');
  assert.equal((await stop(command)).status, 0);
  assert.deepEqual(readdirSync(command.folder), ['notes.db']);
});

test('socket: one that nobody listens on is replaced, another is not', async (t) => {
  const folder = temporaryFolder(t);
  const socketPath = join(folder, 'notes.sock');
  const left = createServer().listen(join(folder, 'left'));
  await once(left, 'listening');
  // Closed, it removes only what has its own name.
  renameSync(join(folder, 'left'), socketPath);
  await once(left.close(), 'close');
  await prepareSocketPath(socketPath);
  await startService(t, { socket: socketPath });
  await assert.rejects(prepareSocketPath(socketPath), /notes\.sock is in use by another process$/);
  assert.equal((await request(BASE, 'GET', '/notes', { socketPath })).status, 200);
});

test('socket: any other file stays, and a refusal says why', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'notes.sock');
  writeFileSync(file, 'mine');
  const ending = await runCommand(t, SOCKET, { folder });
  assertRefused(ending, 1, /notes\.sock exists and is not a socket$/m);
  assert.equal(readFileSync(file, 'utf8'), 'mine');
  assert.equal(existsSync(join(folder, 'notes.db')), false);
  const nowhere = prepareSocketPath(join(folder, 'none/a.sock'));
  await assert.rejects(nowhere, /no such file or directory, access '.*none'$/);
});

test('socket: a folder without the right to write', async (t) => {
  const parts = unprivileged(t);
  if (!parts) return skipLoudly(t, 'another user cannot read this tree');
  const ending = await runCommand(t, ['--socket', '/usr/a.sock'], parts);
  const withSlash = await runCommand(t, ['--socket', `${parts.folder}/none/`], parts);
  assertRefused(withSlash, 1, /permission denied, access '/);
  assertRefused(ending, 1, /permission denied, access '\/usr'$/m);
});

test('socket: several processes share it, and a stop removes it', async (t) => {
  const command = startCommand(t, [...SOCKET, '--processes', '2'], { coverage: true });
  assert.equal(await command.ready(), 'unix:notes.sock');
  const socketPath = join(command.folder, 'notes.sock');
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  for (let count = 0; count < 6; count += 1)
    assert.equal((await request(BASE, 'POST', '/notes', { ...NOTE, socketPath })).status, 201);
  const { status, stderr } = await stop(command);
  assert.equal(status, 0);
  const writers = stderr.matchAll(/"message":"request","process":(\d+)/g);
  assert.equal(new Set([...writers].map(([, pid]) => pid)).size, 2, stderr);
  assert.deepEqual(readdirSync(command.folder), ['notes.db']);
});

test('socket: nobody else may connect before its mode is set', async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const socketPath = join(temporaryFolder(t), 'a.sock');
  await prepareSocketPath(socketPath);
  const server = createServer().listen(socketPath);
  t.after(() => server.close());
  await once(server, 'listening');
  assert.equal(statSync(socketPath).mode & 0o002, 0);
});

test('socket: the host is checked as on loopback', async (t) => {
  const socketPath = join(temporaryFolder(t), 'a.sock');
  const baseUrl = 'https://notes.example.org';
  const { url } = await startService(t, { socket: socketPath, baseUrl });
  assert.equal(url, `unix:${socketPath}`);
  const hosts = { localhost: 200, 'notes.example.org': 200, 'evil.example': 403 };
  for (const [host, status] of Object.entries(hosts)) {
    const answer = await request(BASE, 'GET', '/notes', { socketPath, headers: { host } });
    assert.equal(answer.status, status, host);
  }
});

test('socket: its clients are one client, or those that the proxy names', async (t) => {
  const folder = temporaryFolder(t);
  for (const trustProxy of [false, true]) {
    const socketPath = join(folder, `${trustProxy}.sock`);
    await startService(t, { socket: socketPath, trustProxy, rateLimit: 1 });
    const get = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      return (await request(BASE, 'GET', '/notes', { socketPath, headers })).status;
    };
    assert.equal(await get('192.0.2.1'), 200);
    assert.equal(await get('192.0.2.2'), trustProxy ? 200 : 429);
    assert.equal(await get('192.0.2.1'), 429);
  }
});
