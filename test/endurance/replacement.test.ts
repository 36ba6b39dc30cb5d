// Processes that end are replaced, whatever else happens, and the service goes on. Most tests
// share a service, which the last of them stops.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { holdLock } from '../support/databases.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { sendSignal, startProcesses } from '../support/processes.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder({ after });
const [keys, file] = [join(folder, 'keys'), join(folder, 'notes.db')];
writeFileSync(keys, 'old\n');
const service = await startProcesses({ after }, 2, ['--api-keys-file', keys, '--db', file], {
  coverage: true,
});
const withKey = (key: string) => ({ headers: { 'x-api-key': key } });
const message = (text: string) => service.nextLine((line) => line.message.includes(text));
const statusOf = async (key: string) =>
  (await request(service.url, 'GET', '/notes', withKey(key))).status;

function opens(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((each) => readlinkSync(join(folder, each)) === file);
  } catch {
    return false;
  }
}

test('processes: a new one is given the number of processes', () => {
  for (const pid of service.serving()) {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    assert.equal(line.at(-2), '--processes=2');
  }
});

test('processes: one that gets SIGTERM ends in order and is replaced', async () => {
  const [ended, replaced] = [message('process ended'), message('process replaced')];
  sendSignal(service.serving()[0], 'SIGTERM');
  assert.equal((await ended).status, 0);
  await replaced;
});

test('processes: new keys reach all, a missing file keeps the old ones', async () => {
  writeFileSync(keys, 'new\n');
  const reloaded = message('keys reloaded');
  service.process.kill('SIGHUP');
  await reloaded;
  for (let count = 0; count < 3; count += 1) {
    assert.deepEqual([await statusOf('new'), await statusOf('old')], [200, 401]);
  }
  rmSync(keys);
  const kept = message('the old keys stay');
  service.process.kill('SIGHUP');
  await kept;
  for (let count = 0; count < 3; count += 1) assert.equal(await statusOf('new'), 200);
});

test('processes: a replacement has the keys, although their file is missing', async () => {
  const replaced = message('process replaced');
  sendSignal(service.serving()[0], 'SIGKILL');
  await replaced;
  for (let count = 0; count < 3; count += 1) assert.equal(await statusOf('new'), 200);
});

test('processes: a replacement that fails is tried again', async (t) => {
  const [failed, replaced] = [message('no process could be started'), message('process replaced')];
  const serving = service.serving();
  // The new process waits for the file.
  const release = await holdLock(t, file, 'BEGIN IMMEDIATE');
  sendSignal(serving[0], 'SIGKILL');
  let started: number | undefined;
  await until(() => {
    started = service.serving().find((pid) => !serving.includes(pid) && opens(pid, file));
    return started !== undefined;
  });
  sendSignal(started, 'SIGKILL');
  await failed;
  assert.equal(await statusOf('new'), 200);
  await release();
  await replaced;
  assert.equal(service.serving().length, 2);
});

test('processes: keys changed during a replacement reach it', async (t) => {
  const serving = service.serving();
  const replaced = message('process replaced');
  // The new process has its keys when it waits for the file.
  const release = await holdLock(t, file, 'BEGIN IMMEDIATE');
  sendSignal(serving[0], 'SIGKILL');
  await until(() => service.serving().some((pid) => !serving.includes(pid) && opens(pid, file)));
  writeFileSync(keys, 'newer\n');
  const reloaded = message('keys reloaded');
  service.process.kill('SIGHUP');
  await reloaded;
  await release();
  await replaced;
  for (let count = 0; count < 6; count += 1) assert.equal(await statusOf('newer'), 200);
});

test('socket: processes that all die are replaced behind it', async (t) => {
  const first = startCommand(t, ['--socket', 'notes.sock', '--processes', '2']);
  await first.ready();
  const socketPath = join(first.folder, 'notes.sock');
  const { pid } = first.process;
  const members = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const member of members) sendSignal(Number(member), 'SIGKILL');
  const answers = () =>
    request('http://localhost', 'GET', '/notes', { socketPath }).then(() => true);
  await until(() => answers().catch(() => false));
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  assert.equal((await stop(first)).status, 0);
});

test('processes: a stop and a SIGTERM while they are being replaced', async () => {
  const killed = service.serving();
  for (const pid of killed) sendSignal(pid, 'SIGKILL');
  let fresh: readonly number[] = [];
  // A death that is noticed only during the stop would count as a failure of the stop.
  await until(() => {
    fresh = service.serving();
    return fresh.length > 0 && !fresh.some((pid) => killed.includes(pid));
  });
  sendSignal(fresh[0], 'SIGTERM');
  assert.equal((await stop(service)).status, 0);
});
