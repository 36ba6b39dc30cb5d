// The whole service on a cluster: as on a file, even when single requests and nodes fail.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { SLOW_READ_LIMITS } from '../../../src/lists/slow-reads.ts';
import { startCommand, stop } from '../../support/command.ts';
import { clusterAddress, temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { setLimits } from '../../support/overload.ts';
import { startProcesses } from '../../support/processes.ts';
import { limitCluster, startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { until } from '../../support/until.ts';

const note = { title: `x'41'`, body: 'a\u0000b 😀' };

test('cluster: without a leader requests wait and health is 503', async (t) => {
  const standIn = await startStandIn(t, 2);
  const { request } = await startService(t, { db: clusterAddress(standIn.nodes) });
  await request('POST', '/notes', { json: note });
  standIn.elect(undefined);
  const health = await request('GET', '/health');
  assert.deepEqual([health.status, health.json], [503, { status: 'ok', db: 'error' }]);
  const waiting = [request('POST', '/notes', { json: note }), request('GET', '/notes/1')];
  const { execute } = standIn.requests;
  await until(() => standIn.requests.execute > execute + 2);
  standIn.elect(1);
  const [posted, read] = await Promise.all(waiting);
  assert.deepEqual([posted?.status, read?.status], [201, 200]);
  await until(async () => (await request('GET', '/health')).status === 200);
});

test('cluster: a node needs a trusted certificate', async (t) => {
  if (spawnSync('openssl', ['version']).error)
    return skipLoudly(t, 'no openssl to make a certificate');
  const folder = temporaryFolder(t);
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const certificate =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=node ' +
    `-addext subjectAltName=IP:127.0.0.1 -keyout ${keyFile} -out ${certFile}`;
  execFileSync('openssl', certificate.split(' '), { stdio: 'ignore' });
  const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  const { nodes, requests } = await startStandIn(t, 1, undefined, tls);
  const db = clusterAddress(nodes);
  await assert.rejects(startService(t, { db }), /^DatabaseUnusable: .*certificate/);
  assert.deepEqual(requests, { execute: 0, query: 0, backup: 0 });
  const env = { NODE_EXTRA_CA_CERTS: certFile };
  const url = await startCommand(t, ['--port', '0', '--db', db], { env }).ready();
  assert.equal((await request(url, 'POST', '/notes', { json: note })).status, 201);
  assert.ok(requests.execute > 0);
});

test('cluster: 503 if it does not recover in time', async (t) => {
  limitCluster(t, { clusterMs: 1_000 });
  const standIn = await startStandIn(t);
  const { request, log } = await startService(t, { db: clusterAddress(standIn.nodes) });
  // Behind it are the writes of the start, for which another one would wait without being sent.
  assert.equal((await request('POST', '/notes', { json: note })).status, 201);
  standIn.elect(undefined);
  const { status, headers, text } = await request('POST', '/notes', { json: note });
  assert.deepEqual([status, headers['retry-after']], [503, '1']);
  assert.ok(!text.includes('leader'));
  assert.match(text, /may have been carried out. Repeat it with the same idempotency-key/);
  assert.match(inspect(log.at(-1)?.fields.error), /leader not found/);
});

test('cluster: several services and processes on one', async (t) => {
  const { nodes } = await startStandIn(t, 2);
  const args = ['--db', clusterAddress(nodes), '--log-level', 'warn'];
  const both = await startProcesses(t, 2, args);
  const services = [both, await startService(t, { db: clusterAddress(nodes) })];
  const urlOf = (count: number) => services[count % 2]?.url ?? '';
  const made = await Promise.all(
    Array.from({ length: 30 }, (_, count) =>
      request(urlOf(count), 'POST', '/notes', { json: { title: `${count}`, body: 'b' } }),
    ),
  );
  assert.equal(new Set(made.map(({ headers }) => headers.location)).size, 30);
  for (const [count, { headers, text, status }] of made.entries()) {
    assert.equal(status, 201);
    // The other service must see it.
    assert.equal((await request(urlOf(count + 1), 'GET', String(headers.location))).text, text);
  }
  const { status, stderr } = await stop(both);
  assert.deepEqual([status, stderr], [0, '']);
});

test('cluster: the password comes from a file, without line feed', async (t) => {
  const { nodes } = await startStandIn(t, 1, { user: 'me', password: ' pass word ' });
  const dbPasswordFile = join(temporaryFolder(t), 'password');
  writeFileSync(dbPasswordFile, ' pass word \n');
  const db = `${clusterAddress(nodes)}?user=me`;
  const { request } = await startService(t, { db, dbPasswordFile });
  assert.equal((await request('GET', '/health')).status, 200);
  const unread = /^DatabaseUnusable: cannot read the password in \/nowhere: ENOENT$/;
  await assert.rejects(startService(t, { db, dbPasswordFile: '/nowhere' }), unread);
});

test('cluster: refused in one line, without the password', async (t) => {
  const { nodes, faults } = await startStandIn(t, 1, { user: 'me', password: 'right' });
  const db = `${clusterAddress(nodes)}?user=me`;
  const refusalOf = (dbPassword: string) =>
    startService(t, { db, dbPassword }).then(
      () => assert.fail('it has started'),
      ({ name, message }) => `${name}: ${message}`,
    );
  const refused = (path: string) =>
    `DatabaseUnusable: cannot open the database ${db}: the cluster refuses ${path}: ` +
    'wrong user name or password, or the user lacks the permission';
  assert.equal(await refusalOf('secret'), refused('/db/query'));
  faults.push({ fault: 'forbidden', of: 'execute' });
  assert.equal(await refusalOf('right'), refused('/db/execute'));
});

test('cluster: a wrong address is refused at once', { timeout: 5_000 }, async (t) => {
  const other = createServer((_, response) => response.writeHead(404).end('<h1>404</h1>'));
  const raft = createNetServer((socket) => socket.on('data', () => socket.destroy()));
  const hosts = [];
  for (const each of [other, raft]) {
    await once(each.listen(0, '127.0.0.1'), 'listening');
    t.after(() => each.close());
    hosts.push(`127.0.0.1:${(each.address() as AddressInfo).port}`);
  }
  const plain = new URL((await startStandIn(t)).nodes[0] ?? '').host;
  for (const [secure, host, reason] of [
    ['', '127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['s', plain, 'it does not speak TLS'],
    ['', hosts[0], 'status 404'],
    ['', hosts[1], 'socket hang up'],
  ] as const) {
    const db = `rqlite${secure}://${host}`;
    await assert.rejects(startService(t, { db }), {
      name: 'DatabaseUnusable',
      message: `cannot open the database ${db}: no rqlite at http${secure}://${host}: ${reason}`,
    });
  }
});

test('cluster: large lists are received one at a time', async (t) => {
  const { nodes, requests } = await startStandIn(t);
  const { request } = await startService(t, { db: clusterAddress(nodes) });
  const body = '"\\é😀'.repeat(25_000);
  for (let count = 0; count < 12; count += 1)
    assert.equal((await request('POST', '/notes', { json: { title: 'a', body } })).status, 201);
  const { query } = requests;
  const { json } = await request('GET', '/notes');
  assert.ok(json.items.every((note: { body: string }) => note.body === body));
  // Once as usual, until it is too large, and once with permission.
  assert.ok(requests.query >= query + 2);
});

test('cluster: searches wait for a leader as all requests do', async (t) => {
  setLimits(t, SLOW_READ_LIMITS, { waitMs: 0 });
  const standIn = await startStandIn(t);
  const { request } = await startService(t, { db: clusterAddress(standIn.nodes) });
  await request('POST', '/notes', { json: { title: 'words', body: 'b' } });
  const search = () => request('GET', '/notes?q=words');
  await search();
  standIn.elect(undefined);
  const { query } = standIn.requests;
  const waiting = [search(), search(), search()];
  await until(() => standIn.requests.query > query + 3);
  standIn.elect(0);
  for (const each of waiting) assert.equal((await each).json.total, 1);
});
