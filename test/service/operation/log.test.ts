// What the running service tells its log: one line of JSON a request on standard error, and nothing that is secret.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import sqlite3 from 'sqlite3';
import { openConnection } from '../../../src/storage/sqlite-connection.ts';
import { type Command, startCommand, stop } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { openSocket, sendRaw } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

/** Takes the table of notes away under the service, so that whatever asks for notes fails inside. */
async function breakNotes(file: string): Promise<void> {
  const connection = await openConnection(file, sqlite3.OPEN_READWRITE);
  await connection.execute('ALTER TABLE notes RENAME TO elsewhere');
  await connection.close();
}

/** Stops the command and returns the lines of its log without the one that tells of the stop. */
async function linesOf(command: Command) {
  const { stderr } = await stop(command);
  assert.ok(stderr.endsWith('\n'));
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.pop().message, 'stopping');
  return lines;
}

async function startedCommand(test: TestContext, ...args: string[]) {
  const command = startCommand(test, ['--port', '0', ...args]);
  return { command, url: await command.ready() };
}

test('each request is one line with time, level, id, method, route, status and milliseconds', async (t) => {
  const { command, url } = await startedCommand(t);
  const answers = [
    await request(url, 'POST', '/notes', { json: NOTE }),
    await request(url, 'GET', '/notes/1'),
    await request(url, 'HEAD', '/notes?limit=3'),
    await request(url, 'GET', '/notes/2'),
    await request(url, 'PUT', '/notes/1', { json: {} }),
    await request(url, 'GET', '/nowhere'),
  ];
  const lines = await linesOf(command);
  const expected = [
    ['info', 'POST', '/notes', 201],
    ['info', 'GET', '/notes/{note_id}', 200],
    ['info', 'HEAD', '/notes', 200],
    ['warn', 'GET', '/notes/{note_id}', 404],
    ['warn', 'PUT', '/notes/{note_id}', 422],
    ['warn', 'GET', undefined, 404],
  ];
  assert.deepEqual(
    lines.map(({ level, method, route, status }) => [level, method, route, status]),
    expected,
  );
  for (const [index, line] of lines.entries()) {
    const { time, level, message, request_id, method, route, status, ms, ...rest } = line;
    assert.equal(message, 'request');
    assert.equal(new Date(time).toISOString(), time);
    assert.equal(request_id, answers[index]?.headers['x-request-id']);
    assert.ok(ms >= 0 && ms < 10_000);
    assert.deepEqual(rest, {});
  }
});

test('what never became a request is a line too, with its id, status and reason', async (t) => {
  const { command, url } = await startedCommand(t);
  const answer = await sendRaw({ port: Number(new URL(url).port) }, 'nonsense\r\n\r\n');
  const [line] = await linesOf(command);
  assert.deepEqual([line.level, line.message, line.status], ['warn', 'refused', 400]);
  assert.match(line.reason, /^HPE_/);
  assert.equal(line.request_id, /x-request-id: (\S+)/i.exec(answer)?.[1]);
});

test('a client that goes away in the middle of its request leaves a line without a status', async (t) => {
  const service = await startService(t);
  const socket = await openSocket(service);
  socket.write('POST /notes HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n');
  await once(socket, 'data');
  socket.resetAndDestroy();
  await until(() => service.log.length > 0);
  const [line, ...rest] = service.log;
  const { route, status, error } = line?.fields ?? {};
  assert.deepEqual(
    [line?.level, line?.message, route, status, error],
    ['info', 'request', '/notes', undefined, undefined],
  );
  assert.deepEqual(rest, []);
});

test('nothing of bodies, queries, paths and headers gets into the log, not even when the service fails', async (t) => {
  const { command, url } = await startedCommand(t, '--log-level', 'debug');
  const secret = 'Jabberwocky';
  const json = { title: secret, body: secret, [secret]: secret };
  await request(url, 'POST', '/notes', { json });
  await request(url, 'POST', '/notes', { json: { ...json, title: { [secret]: secret } } });
  await request(url, 'POST', '/event/sync', { json: { payload: secret } });
  await request(url, 'GET', `/notes?limit=${secret}&${secret}=1`);
  await request(url, 'GET', `/notes/${secret}`);
  await request(url, 'GET', `/${secret}`);
  await request(url, 'GET', `/docs/${secret}`);
  const headers = {
    authorization: `Bearer ${secret}`,
    'x-api-key': secret,
    cookie: secret,
    'x-request-id': `${secret}!`,
  };
  await fetch(`${url}/notes`, { headers: { ...headers, 'user-agent': secret, referer: secret } });
  await fetch(`${url}/notes`, { method: 'POST', body: `{"title":"${secret}` });
  const port = Number(new URL(url).port);
  await sendRaw({ port }, `GET /${secret} HTTP/9.9\r\n${secret}\r\n\r\n`);
  await breakNotes(join(command.folder, 'notes.db'));
  assert.equal((await request(url, 'POST', '/notes', { json })).status, 500);
  assert.equal((await request(url, 'PUT', '/notes/1', { json })).status, 500);
  const lines = await linesOf(command);
  assert.equal(lines.length, 12);
  assert.ok(!JSON.stringify(lines).includes(secret));
});

test('a failure inside is told to the log alone, joined to its answer by the request id', async (t) => {
  const { command, url } = await startedCommand(t);
  await breakNotes(join(command.folder, 'notes.db'));
  const answer = await request(url, 'GET', '/notes/1');
  assert.deepEqual(JSON.parse(answer.text), {
    type: `${url}/problems/internal-server-error`,
    title: 'Internal Server Error',
    status: 500,
    detail: 'Something unexpected happened.',
  });
  const names = Object.keys(answer.headers).filter((name) => !/^(x-request-id|connection|keep-alive|date)$/.test(name));
  assert.deepEqual(names.sort(), ['cache-control', 'content-length', 'content-type', 'x-content-type-options']);

  const [line] = await linesOf(command);
  assert.deepEqual([line.level, line.route, line.status], ['error', '/notes/{note_id}', 500]);
  assert.equal(line.request_id, answer.headers['x-request-id']);
  assert.match(line.error.message, /no such table: (main\.)?notes/);
  assert.match(line.error.stack, /^Error: SQLITE_ERROR/);
});

test('the log level is the least severe that is written', async (t) => {
  const written = async (level: string) => {
    const { command, url } = await startedCommand(t, '--log-level', level);
    await request(url, 'GET', '/notes');
    await request(url, 'GET', '/nowhere');
    await breakNotes(join(command.folder, 'notes.db'));
    await request(url, 'GET', '/notes/1');
    const { stderr } = await stop(command);
    return stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).level);
  };
  assert.deepEqual(await written('silent'), []);
  assert.deepEqual(await written('error'), ['error']);
  assert.deepEqual(await written('warn'), ['warn', 'error']);
  // The stop is told as information too.
  assert.deepEqual(await written('info'), ['info', 'warn', 'error', 'info']);
});
