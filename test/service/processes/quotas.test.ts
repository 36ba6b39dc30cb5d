// Quotas and wrong keys count for all processes together. The tests share a service, whose first
// process the last test kills.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { isAlive, sendSignal, startProcesses } from '../../support/processes.ts';
import { converse, requestText } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const folder = temporaryFolder({ after });
// Each key has a quota of its own.
const env = { NOTES_API_KEYS: 'one,two,three,four' };
const keys = join(folder, 'keys');
writeFileSync(keys, 'old\n');
const args = ['--rate-limit', '5', '--api-keys-file', keys];
const service = await startProcesses({ after }, 3, args, { folder, env, coverage: true });
const since = performance.now();
const withKey = (key: string) => ({ headers: { 'x-api-key': key } });
const get = (key: string) => request(service.url, 'GET', '/notes', withKey(key));

test('processes: a quota holds for all together', async () => {
  const answers = [];
  for (let count = 0; count < 12; count += 1) answers.push(await get('one'));
  for (const [count, { status, headers }] of answers.entries()) {
    assert.equal(status, count < 5 ? 200 : 429);
    assert.match(String(headers.ratelimit), new RegExp(`r=${Math.max(0, 4 - count)};`));
    assert.equal(Number(headers['retry-after']) >= 1, count >= 5);
  }
});

test('processes: a quota holds for concurrent requests', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => get('two')));
  assert.equal(answers.filter(({ status }) => status === 200).length, 5);
  assert.equal(answers.filter(({ status }) => status === 429).length, 35);
});

test('processes: a bulk request takes its share of the quota of all', async () => {
  const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': 'four' };
  const body = '{"name":"n"}\n'.repeat(100);
  const post = () => request(service.url, 'POST', '/tags', { body, headers });
  const answers = [await post(), await post(), await get('four'), await get('four')];
  assert.equal(answers.map(({ status }) => status).join(), '201,429,200,429');
  assert.match(String(answers[0]?.headers.ratelimit), /r=2;/);
  assert.match(String(answers[1]?.headers.ratelimit), /r=1;/);
});

test('processes: a body may arrive while its request is counted', async () => {
  const json = { title: 't', body: 'b'.repeat(100_000) };
  const long = await request(service.url, 'POST', '/notes', { json, ...withKey('three') });
  assert.equal(long.status, 201);
  const headers = { expect: '100-continue', 'x-api-key': 'three' };
  const expecting = await request(service.url, 'POST', '/tags', { json: { name: 'n' }, headers });
  assert.equal(expecting.status, 201);
});

test('processes: a client that leaves while it is counted', async () => {
  const { port } = new URL(service.url);
  const { socket } = await converse({ port: Number(port) });
  assert.equal((await request(service.url, 'GET', '/health')).status, 200);
  const ofGone = (message: string) =>
    service.nextLine((line) => line.request_id === 'gone' && line.message === message);
  // The handler logs `request` at its end: it does not wait for the rest of the body.
  const logged = Promise.all([ofGone('refused'), ofGone('request')]);
  // The stopped process counts nothing.
  service.process.kill('SIGSTOP');
  const headers = ['x-api-key: three', 'x-request-id: gone', 'content-length: 9'];
  socket.end(requestText('POST /tags', headers));
  await once(socket, 'close');
  service.process.kill('SIGCONT');
  await logged;
  assert.equal((await request(service.url, 'GET', '/tags', withKey('three'))).status, 200);
});

test('processes: one that starts during a reload has the new keys', async () => {
  // If it had lived for less than a second, the next one would be started later.
  await until(() => performance.now() - since > 1_000);
  const logged = (text: string) => service.nextLine(({ message }) => message === text);
  const lines = ['process ended', 'process replaced', 'keys reloaded'].map(logged);
  sendSignal(service.serving()[0], 'SIGKILL');
  await lines[0];
  const names = Array.from({ length: 30 }, (_, index) => `new-${index}`);
  writeFileSync(keys, names.join('\n'));
  sendSignal(service.process.pid, 'SIGHUP');
  const [, replaced, reloaded] = (await Promise.all(lines)).map((line) =>
    service.lines.indexOf(line),
  );
  // Otherwise it could still accept a removed key.
  assert.ok(Number(replaced) < Number(reloaded), 'the reload did not wait for it');
  const start = service.lines.length;
  for (const name of names) assert.equal((await get(name)).status, 200, name);
  const answered = () => service.lines.slice(start).map((line) => line.process);
  await until(() => service.serving().every((pid) => answered().includes(pid)));
});

test('processes: wrong keys count for all together', async () => {
  for (let count = 0; count < 10; count += 1)
    assert.equal((await get(`wrong${count}`)).status, 401);
  for (const key of ['wrong', 'three', 'three']) assert.equal((await get(key)).status, 429);
});

test('processes: if all die at once, others take over their port', async () => {
  const replaced = () => service.lines.filter(({ message }) => message === 'process replaced');
  const victims = service.serving();
  const { length } = replaced();
  for (const victim of victims) sendSignal(victim, 'SIGKILL');
  await until(() => replaced().length === length + victims.length);
  assert.equal((await request(service.url, 'GET', '/livez')).status, 200);
});

test('processes: all end when the first one is killed', async () => {
  const pids = service.serving();
  service.process.kill('SIGKILL');
  await until(() => !pids.some(isAlive));
  assert.deepEqual(await checkFile(join(folder, 'notes.db')), []);
});
