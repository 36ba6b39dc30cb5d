// Several processes look like one service from outside: one port, one file, one ready line, one
// log, one stop. The tests share a service, which the last of them stops.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { assertRefused, preload, runCommand, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { openStream } from '../../support/event-stream.ts';
import { request } from '../../support/http.ts';
import { assertCountedTogether } from '../../support/metrics-of-processes.ts';
import { isAlive, sendSignal, startProcesses, untilAllAnswered } from '../../support/processes.ts';
import { converse } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const folder = temporaryFolder({ after });
const service = await startProcesses({ after }, 3, [], { folder, coverage: true });
const note = (title: string) => ({ json: { title, body: 'b' } });

/** Writes; resolves with the line in the log of the process that did, which keeps the lease. */
async function writeOne() {
  const id = randomUUID();
  const logged = service.nextLine((line) => line.request_id === id);
  await request(service.url, 'POST', '/notes', { ...note('n'), headers: { 'x-request-id': id } });
  return logged;
}

test('processes: a failed start is reported once, and nothing remains', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const args = ['--processes', '2', '--port', String(port)];
  assertRefused(
    await runCommand(t, args, { coverage: true }),
    1,
    /EADDRINUSE .*: choose another --port/,
  );
});

test('processes: the port is another one if a program takes the one that was free', async (t) => {
  const takeFirst = `
    import cluster from 'node:cluster';
    import { createServer, Server } from 'node:net';
    const { close } = Server.prototype;
    if (cluster.isPrimary)
      Server.prototype.close = function (...args) {
        Server.prototype.close = close;
        const { port } = this.address();
        this.once('close', () => createServer().listen(port, '127.0.0.1').unref());
        process.stderr.write('taken: ' + port);
        return close.apply(this, args);
      };
  `;
  const args = ['--processes', '2', '--port', '0'];
  const command = startCommand(t, args, { node: preload(takeFirst) });
  const url = await command.ready();
  const { stderr, status } = await stop(command);
  const [, taken] = /^taken: (\d+)/.exec(stderr) ?? [];
  assert.ok(taken);
  assert.notEqual(new URL(url).port, taken);
  assert.equal(status, 0);
});

test('processes: share the ids, and see all writes at once', async () => {
  for (let count = 1; count <= 12; count += 1) {
    const made = await request(service.url, 'POST', '/notes', note(`n${count}`));
    assert.deepEqual([made.status, made.headers.location], [201, `/notes/${count}`]);
    assert.equal((await request(service.url, 'GET', `/notes/${count}`)).text, made.text);
  }
  await untilAllAnswered(service, service.serving());
});

test('processes: concurrent writes wait for each other', async () => {
  const start = service.lines.length;
  const writes = Array.from({ length: 32 }, async (_, client) => {
    const locations: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const made = await request(service.url, 'POST', '/notes', note(`${client}.${turn}`));
      assert.equal(made.status, 201);
      locations.push(String(made.headers.location));
    }
    return locations;
  });
  assert.equal(new Set((await Promise.all(writes)).flat()).size, 128);
  for (const line of service.lines.slice(start)) assert.equal(line.level, 'info');
});

test('processes: each sees a deletion and a restoration', async () => {
  const call = (method: string, path: string, parts = {}) =>
    request(service.url, method, path, parts);
  // Each request has a connection of its own, and so another process.
  const assertAll = async (paths: string[], status: number) => {
    for (const path of paths)
      for (const each of await Promise.all(Array.from({ length: 6 }, () => call('GET', path))))
        assert.equal(each.status, status, path);
  };
  const { id } = (await call('PUT', '/named/diary', note('n'))).json;
  for (let round = 0; round < 5; round += 1) {
    await assertAll([`/notes/${id}`, '/named/diary'], 200);
    assert.equal((await call('DELETE', `/notes/${id}`)).status, 204);
    await assertAll([`/notes/${id}`, '/named/diary', `/notes/${id}/versions`], 404);
    assert.equal((await call('POST', `/trash/${id}/restore`)).status, 200);
    assert.equal((await call('POST', `/trash/${id}/restore`)).status, 404);
  }
});

test('metrics: count the requests of all processes', () => assertCountedTogether(service.url, 8));

test('processes: a stream has the changes of all of them', async (t) => {
  const opened = service.nextLine(({ message }) => message === 'stream opened');
  const stream = await openStream(t, service.url);
  const { process: reader } = await opened;
  const start = service.lines.length;
  const writers = () => {
    const lines = service.lines.slice(start).filter(({ method }) => method === 'POST');
    return lines.map((line) => line.process);
  };
  const others = service.serving().filter((pid) => pid !== reader);
  const made: number[] = [];
  await until(async () => {
    made.push((await request(service.url, 'POST', '/notes', note('n'))).json.id);
    // The line of a request may follow its answer.
    return others.every((pid) => writers().includes(pid));
  });
  const changes = await stream.changes(made.length);
  assert.deepEqual(
    changes.map(({ type, note_id: id }) => [type, id]),
    made.map((id) => ['note.created', id]),
  );
});

test('processes: health covers all of them', async (t) => {
  const [stopped = 0] = service.serving();
  sendSignal(stopped, 'SIGSTOP');
  t.after(() => isAlive(stopped) && sendSignal(stopped, 'SIGCONT'));
  // Connections to the stopped process wait until it goes on.
  const answers = Array.from({ length: 6 }, () => request(service.url, 'GET', '/health'));
  const { status, text } = await Promise.race(answers);
  assert.deepEqual([status, text], [503, '{"status":"ok","db":"error"}']);
  sendSignal(stopped, 'SIGCONT');
  await Promise.all(answers);
  await until(async () => (await request(service.url, 'GET', '/health')).status === 200);
});

test('processes: one that hangs loses the write lease', { timeout: 30_000 }, async () => {
  const { process: holder } = await writeOne();
  sendSignal(holder, 'SIGSTOP');
  const answers = Array.from({ length: 6 }, () =>
    request(service.url, 'POST', '/notes', note('meanwhile')),
  );
  assert.equal((await Promise.race(answers)).status, 201);
  sendSignal(holder, 'SIGCONT');
  for (const { status } of await Promise.all(answers)) assert.equal(status, 201);
});

let dead = 0;

test('processes: one that dies is replaced while others serve', async () => {
  const { length } = service.serving();
  const { process: victim } = await writeOne();
  const others = service.serving().filter((pid) => pid !== victim);
  const message = (text: string) => service.nextLine((line) => line.message.includes(text));
  const [ended, replaced] = [message('process ended'), message('process replaced')];
  // Connections that the dying process was to accept must not hang.
  sendSignal(victim, 'SIGSTOP');
  const port = Number(new URL(service.url).port);
  const conversations = await Promise.all(Array.from({ length: 8 }, () => converse({ port })));
  const answers = conversations.map(({ socket, answer }) => {
    socket.write('GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return answer().catch((error: Error) => error);
  });
  sendSignal(victim, 'SIGKILL');
  await until(() => !isAlive(victim));
  for (const answer of await Promise.all(answers)) {
    if (answer instanceof Error) assert.match(answer.message, /the connection ended/);
  }
  const written = request(service.url, 'POST', '/notes', note('meanwhile'));
  // One that hangs would lose the lease after two seconds, and no sooner.
  const first = await Promise.race([written, delay(1_990, 'the lease was not released')]);
  assert.equal(typeof first === 'string' ? first : first.status, 201);
  const { level, status, ended: pid } = await ended;
  assert.deepEqual([level, status, pid], ['error', 'SIGKILL', victim]);
  await replaced;
  const serving = service.serving();
  assert.equal(serving.length, length);
  assert.ok(others.every((other) => serving.includes(other)) && !serving.includes(victim));
  await untilAllAnswered(service, serving);
  dead = victim;
});

// Late, because idle threads that are started afterwards take processor time.
test('processes: demonstrations run in each', async () => {
  for (let count = 0; count < 3; count += 1) {
    const json = { workers: 2, count: 100 };
    const { status, text } = await request(service.url, 'POST', '/counter/increment', { json });
    assert.equal(status, 200, text);
  }
});

test('processes: one ready line, one log, one stop', async () => {
  const pids = service.serving();
  const { status, stdout } = await stop(service);
  assert.equal(status, 0);
  assert.equal(stdout, `notes-server listening on ${service.url}\n`);
  const loggers = [...new Set(service.lines.map((line) => line.process))];
  assert.deepEqual(loggers.sort(), [service.process.pid, dead, ...pids].sort());
  assert.equal(service.lines.filter(({ message }) => message === 'stopping').length, 1);
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  assert.ok(!pids.some(isAlive));
});
