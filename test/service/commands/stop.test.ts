// How the command ends: by signals, and by faults that nobody catches.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCommand, stop } from '../../support/command.ts';
import { holdLock } from '../../support/databases.ts';
import { request } from '../../support/http.ts';
import { openSocket, readAll, refusal, sendRaw } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };
const portOf = (url: string) => ({ port: Number(new URL(url).port) });

/** A connection with a request whose body is sent in two halves: it is in flight until `finish` is called. */
async function heldRequest(url: string) {
  const socket = await openSocket(portOf(url));
  const answer = readAll(socket);
  const body = JSON.stringify(NOTE);
  const head = `POST /notes HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`;
  socket.write(head);
  // The service has the request and waits for its body once it has said so.
  await once(socket, 'data');
  socket.write(body.slice(0, 5));
  return { answer, finish: () => socket.write(body.slice(5)) };
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets the request in flight finish, closes the database and ends well`, async (t) => {
    const command = startCommand(t, ['--port', '0']);
    const url = await command.ready();
    const held = await heldRequest(url);
    command.process.kill(signal);
    await command.says(`"stopping","signal":"${signal}"`);
    await refusal(portOf(url));
    held.finish();
    const answer = await held.answer;
    assert.match(answer, /^HTTP\/1\.1 201 Created\r\n/m);
    assert.match(answer, /\r\nconnection: close\r\n/i);
    const { status, signal: killer } = await command.ended;
    assert.deepEqual({ status, killer }, { status: 0, killer: null });
    assert.deepEqual(readdirSync(command.folder), ['notes.db']);

    const again = startCommand(t, ['--port', '0'], { folder: command.folder });
    const read = await request(await again.ready(), 'GET', '/notes/1');
    assert.deepEqual(JSON.parse(read.text), { id: 1, ...NOTE });
  });
}

test('a second signal ends it at once, whatever is in flight', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  await heldRequest(await command.ready());
  command.process.kill('SIGINT');
  await command.says('"stopping"');
  const started = performance.now();
  const { status, signal } = await stop(command, 'SIGTERM');
  assert.deepEqual({ status, signal }, { status: null, signal: 'SIGTERM' });
  // It would wait ten seconds for the request.
  assert.ok(performance.now() - started < 5_000);
});

test('while another program has the database locked, all who wait are told so and it ends well', async (t) => {
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  await holdLock(t, join(command.folder, 'notes.db'), 'BEGIN IMMEDIATE');
  const body = JSON.stringify(NOTE);
  const post = `POST /notes HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const answers = Array.from({ length: 200 }, () => sendRaw(portOf(url), post));
  await until(async () => (await request(url, 'GET', '/health')).status === 503);
  const started = performance.now();
  const { status } = await stop(command, 'SIGTERM');
  // One wait for the lock takes five seconds, which nobody behind it has to wait through again.
  assert.ok(performance.now() - started < 9_000);
  assert.equal(status, 0);
  for (const answer of await Promise.all(answers)) {
    assert.match(answer, /^HTTP\/1\.1 503 .*\r\nconnection: close\r\n/is);
  }
});

for (const [what, fault] of Object.entries({ thrown: 'throw', rejected: 'Promise.reject' })) {
  test(`a fault that is ${what} where nobody catches it is logged, and ends the process with status 1`, async (t) => {
    const preload = `process.on('SIGUSR2', () => { ${fault}(new Error('nobody caught this')) })`;
    const node = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`];
    const command = startCommand(t, ['--port', '0'], { node });
    await command.ready();
    const { status, stderr } = await stop(command, 'SIGUSR2');
    assert.equal(status, 1);
    const line = JSON.parse(stderr);
    assert.deepEqual([line.level, line.message, line.error.message], ['error', 'uncaught', 'nobody caught this']);
    assert.match(line.error.stack, /at process\.<anonymous>/);
  });
}
