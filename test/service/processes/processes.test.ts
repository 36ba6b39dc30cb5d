// Several processes that are one service to whoever looks at it from outside: one port, one file, one line when it is
// ready, one stop; and a process that dies is replaced.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkFile } from '../../../src/storage/check.ts';
import { assertRefused, runCommand, stop } from '../../support/command.ts';
import { holdLock } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { isAlive, type Processes, startProcesses } from '../../support/processes.ts';
import { converse } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const note = (title: string) => ({ json: { title, body: 'b' } });

/** The lines of a log, each of which must be whole. */
const linesOf = (stderr: string) =>
  stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Whether a process has that file open. */
function opens(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((each) => readlinkSync(join(folder, each)) === file);
  } catch {
    return false;
  }
}

/** Asks over fresh connections until each of `pids` has answered; resolves with how many of the answers were each's. */
async function untilAllAnswered(service: Processes, pids: readonly number[]): Promise<void> {
  const silent = new Set(pids);
  service.process.stderr?.on('data', (text) => {
    for (const pid of silent) if (text.includes(`"process":${pid}`)) silent.delete(pid);
  });
  await until(async () => {
    await request(service.url, 'GET', '/health');
    return silent.size === 0;
  });
}

test('several processes serve one port and one file: one ready line, one log, one stop', async (t) => {
  const folder = temporaryFolder(t);
  const service = await startProcesses(t, 3, [], { folder });
  const pids = service.serving();
  for (let count = 1; count <= 30; count += 1) {
    const made = await request(service.url, 'POST', '/notes', note(`n${count}`));
    assert.deepEqual([made.status, made.headers.location], [201, `/notes/${count}`]);
    const read = await request(service.url, 'GET', `/notes/${count}`);
    assert.equal(read.text, made.text);
  }
  await untilAllAnswered(service, pids);
  const list = JSON.parse((await request(service.url, 'GET', '/notes?limit=1')).text);
  assert.equal(list.total, 30);

  const { status, stdout, stderr } = await stop(service);
  assert.equal(status, 0);
  assert.equal(stdout, `notes-server listening on ${service.url}\n`);
  const lines = linesOf(stderr);
  assert.deepEqual([...new Set(lines.map((line) => line.process))].sort(), [service.process.pid, ...pids].sort());
  assert.equal(lines.filter((line) => line.message === 'stopping').length, 1);
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  assert.ok(!pids.some(isAlive));
});

test('processes that write at the same time wait for each other, and no client hears of it', async (t) => {
  const service = await startProcesses(t, 4, ['--log-level', 'warn']);
  const ids = new Set<string>();
  await Promise.all(
    Array.from({ length: 64 }, async (_, client) => {
      for (let turn = 0; turn < 10; turn += 1) {
        const { status, headers } = await request(service.url, 'POST', '/notes', note(`${client}.${turn}`));
        assert.equal(status, 201);
        ids.add(String(headers.location));
      }
    }),
  );
  assert.equal(ids.size, 640);
  const { stderr, status } = await stop(service);
  assert.deepEqual({ stderr, status }, { stderr: '', status: 0 });
});

test('a process that dies is replaced, while the others serve', async (t) => {
  const service = await startProcesses(t, 2);
  const before = service.serving();
  const [victim = 0, other = 0] = before;
  process.kill(victim, 'SIGKILL');
  await until(() => !isAlive(victim));
  assert.equal((await request(service.url, 'POST', '/notes', note('meanwhile'))).status, 201);
  await service.says('process replaced');
  const after = service.serving();
  assert.equal(after.length, 2);
  assert.ok(after.includes(other) && !after.includes(victim));
  await untilAllAnswered(service, after);
  const lines = linesOf((await stop(service)).stderr);
  const told = lines.find((line) => line.message === 'process ended');
  assert.deepEqual([told.level, told.status, told.ended], ['error', 'SIGKILL', victim]);
});

test('a process that is asked to end does so in order, and is replaced too', async (t) => {
  const service = await startProcesses(t, 2);
  const [asked = 0] = service.serving();
  process.kill(asked, 'SIGTERM');
  await service.says('process replaced');
  const lines = linesOf((await stop(service)).stderr);
  assert.equal(lines.find((line) => line.message === 'process ended').status, 0);
});

test('a process that cannot be replaced is tried again, ever later, until it can', async (t) => {
  const keys = join(temporaryFolder(t), 'keys');
  writeFileSync(keys, 'one\n');
  const service = await startProcesses(t, 2, ['--api-keys-file', keys]);
  rmSync(keys);
  const [victim = 0] = service.serving();
  process.kill(victim, 'SIGKILL');
  await service.says('no process could be started');
  const headers = { 'x-api-key': 'one' };
  assert.equal((await request(service.url, 'GET', '/notes', { headers })).status, 200);
  writeFileSync(keys, 'one\n');
  await service.says('process replaced');
  assert.equal(service.serving().length, 2);
  assert.equal((await stop(service)).status, 0);
});

test('a connection that a process was to have when it died is not left hanging', async (t) => {
  const service = await startProcesses(t, 2);
  const port = Number(new URL(service.url).port);
  const [victim = 0] = service.serving();
  process.kill(victim, 'SIGSTOP');
  const conversations = await Promise.all(Array.from({ length: 8 }, () => converse({ port })));
  const answers = conversations.map(({ socket, answer }) => {
    socket.write('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return answer().catch((error: Error) => error);
  });
  process.kill(victim, 'SIGKILL');
  // It fails where nothing comes within ten seconds.
  for (const answer of await Promise.all(answers)) {
    if (answer instanceof Error) assert.match(answer.message, /the connection ended/);
  }
});

test('a signal that also reaches a process which has just been started ends all in order', async (t) => {
  const service = await startProcesses(t, 2);
  const before = service.serving();
  process.kill(before[0] ?? 0, 'SIGKILL');
  let fresh: number | undefined;
  await until(() => {
    fresh = service.serving().find((pid) => !before.includes(pid));
    return fresh !== undefined;
  });
  process.kill(fresh ?? 0, 'SIGTERM');
  assert.equal((await stop(service)).status, 0);
});

test('a process that replaces another is told how many there are, whatever auto would be by then', async (t) => {
  const service = await startProcesses(t, 2);
  for (const pid of service.serving()) {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    assert.equal(line.at(-2), '--processes=2');
  }
});

test('a stop while a process is being replaced ends all the same', async (t) => {
  const service = await startProcesses(t, 2);
  const killed = service.serving();
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  for (const pid of killed) await service.says(`"ended":${pid}`);
  const { status } = await stop(service);
  assert.equal(status, 0);
});

test('without the process that started them, the others end', async (t) => {
  const folder = temporaryFolder(t);
  const service = await startProcesses(t, 2, [], { folder });
  const pids = service.serving();
  assert.equal((await request(service.url, 'POST', '/notes', note('kept'))).status, 201);
  service.process.kill('SIGKILL');
  await until(() => !pids.some(isAlive));
  assert.deepEqual(await checkFile(join(folder, 'notes.db')), []);
});

test('what cannot be started is told once, and nothing stays behind', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  assertRefused(await runCommand(t, ['--processes', '3', '--port', String(port)]), 1, /in use by another process/);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'notes.db'), 'no database, but long enough to be taken for one'.repeat(50));
  assertRefused(await runCommand(t, ['--processes', '3', '--port', '0'], { folder }), 1, /it is no SQLite file/);
});

test('a quota holds for all processes together', async (t) => {
  const service = await startProcesses(t, 3, ['--rate-limit', '5']);
  const answers = [];
  for (let count = 0; count < 12; count += 1) answers.push(await request(service.url, 'GET', '/notes'));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array(5).fill(200), ...Array(7).fill(429)],
  );
  const left = answers.map(({ headers }) => /r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
  assert.deepEqual(left.slice(0, 6), ['4', '3', '2', '1', '0', '0']);
  assert.ok(answers.slice(5).every(({ headers }) => Number(headers['retry-after']) >= 1));
});

test('a quota holds for all processes when requests come together', async (t) => {
  const service = await startProcesses(t, 3, ['--rate-limit', '50']);
  const answers = await Promise.all(Array.from({ length: 200 }, () => request(service.url, 'GET', '/tags')));
  assert.equal(answers.filter(({ status }) => status === 200).length, 50);
  assert.equal(answers.filter(({ status }) => status === 429).length, 150);
});

test('wrong keys count for all processes together', async (t) => {
  const service = await startProcesses(t, 3, [], { env: { NOTES_API_KEYS: 'right' } });
  const withKey = (key: string) => request(service.url, 'GET', '/notes', { headers: { 'x-api-key': key } });
  assert.equal((await withKey('right')).status, 200);
  for (let count = 0; count < 10; count += 1) assert.equal((await withKey(`wrong${count}`)).status, 401);
  for (const key of ['wrong', 'right', 'right', 'right']) assert.equal((await withKey(key)).status, 429);
});

test('a client that is let in later may send its body meanwhile', async (t) => {
  const service = await startProcesses(t, 2, ['--rate-limit', '1000']);
  const made = await request(service.url, 'POST', '/notes', { json: { title: 't', body: 'b'.repeat(100_000) } });
  assert.equal(made.status, 201);
  const expecting = await request(service.url, 'POST', '/tags', {
    json: { name: 'n' },
    headers: { expect: '100-continue' },
  });
  assert.equal(expecting.status, 201);
});

test('a client that goes while its request is being counted is not waited for', async (t) => {
  const service = await startProcesses(t, 2, ['--rate-limit', '1000']);
  const port = Number(new URL(service.url).port);
  const { socket } = await converse({ port });
  assert.equal((await request(service.url, 'GET', '/health')).status, 200);
  // Nothing is counted meanwhile.
  service.process.kill('SIGSTOP');
  socket.end('POST /tags HTTP/1.1\r\nhost: 127.0.0.1\r\nx-request-id: gone\r\ncontent-length: 9\r\n\r\n');
  await once(socket, 'close');
  service.process.kill('SIGCONT');
  assert.equal((await request(service.url, 'GET', '/tags')).status, 200);
  const { status, stderr } = await stop(service);
  assert.equal(status, 0);
  // It has been answered as far as it came, and the handler, whose line is written at its end, did not wait for more.
  const lines = linesOf(stderr).filter((line) => line.request_id === 'gone');
  assert.deepEqual(lines.map(({ message }) => message).sort(), ['refused', 'request']);
});

test('new keys are known to all processes', async (t) => {
  const keys = join(temporaryFolder(t), 'keys');
  writeFileSync(keys, 'old\n');
  const service = await startProcesses(t, 3, ['--api-keys-file', keys]);
  const withKey = async (key: string) =>
    (await request(service.url, 'GET', '/notes', { headers: { 'x-api-key': key } })).status;
  assert.equal(await withKey('old'), 200);
  writeFileSync(keys, 'new\n');
  service.process.kill('SIGHUP');
  await service.says('keys reloaded');
  for (let count = 0; count < 3; count += 1) {
    assert.deepEqual([await withKey('new'), await withKey('old')], [200, 401]);
  }
  rmSync(keys);
  service.process.kill('SIGHUP');
  await service.says('the old keys stay');
  for (let count = 0; count < 3; count += 1) assert.equal(await withKey('new'), 200);
});

test('a process that is being replaced while the keys change has the new ones', async (t) => {
  const folder = temporaryFolder(t);
  const [keys, file] = [join(folder, 'keys'), join(folder, 'notes.db')];
  writeFileSync(keys, 'old\n');
  const service = await startProcesses(t, 2, ['--api-keys-file', keys, '--db', file]);
  const before = service.serving();
  // It has read its keys when it waits for the file.
  const release = await holdLock(t, file, 'BEGIN IMMEDIATE');
  process.kill(before[0] ?? 0, 'SIGKILL');
  await until(() => service.serving().some((pid) => !before.includes(pid) && opens(pid, file)));
  writeFileSync(keys, 'new\n');
  service.process.kill('SIGHUP');
  await service.says('keys reloaded');
  await release();
  await service.says('process replaced');
  for (let count = 0; count < 8; count += 1) {
    const { status } = await request(service.url, 'GET', '/notes', { headers: { 'x-api-key': 'old' } });
    assert.equal(status, 401);
  }
});

test('the health is that of all processes', async (t) => {
  const service = await startProcesses(t, 3);
  const [stopped = 0] = service.serving();
  process.kill(stopped, 'SIGSTOP');
  t.after(() => isAlive(stopped) && process.kill(stopped, 'SIGCONT'));
  // A connection that goes to the one that has stopped waits until it goes on.
  const asked = Array.from({ length: 6 }, () => request(service.url, 'GET', '/health'));
  const first = await Promise.race(asked);
  assert.deepEqual([first.status, first.text], [503, '{"status":"ok","db":"error"}']);
  process.kill(stopped, 'SIGCONT');
  await Promise.all(asked);
  await until(async () => (await request(service.url, 'GET', '/health')).status === 200);
});

test('a process that hangs with the turn at writing does not keep the others from it', async (t) => {
  const service = await startProcesses(t, 2);
  for (let count = 0; count < 4; count += 1) await request(service.url, 'POST', '/notes', note('before'));
  // Whichever had the turn last.
  for (const hanging of service.serving()) {
    process.kill(hanging, 'SIGSTOP');
    const asked = Array.from({ length: 4 }, () => request(service.url, 'POST', '/notes', note('meanwhile')));
    assert.equal((await Promise.race(asked)).status, 201);
    process.kill(hanging, 'SIGCONT');
    for (const { status } of await Promise.all(asked)) assert.equal(status, 201);
  }
});

test('the demonstrations run in each of them', async (t) => {
  const service = await startProcesses(t, 2);
  for (let count = 0; count < 4; count += 1) {
    const json = { workers: 4, count: 100 };
    const answer = await request(service.url, 'POST', '/counter/increment', { json });
    assert.equal(answer.status, 200, answer.text);
  }
});
