// GET /export: what the command `export` writes, for one reader of a client at a time, and whole or
// visibly cut off.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { startApp } from '../../src/app.ts';
import { EXPORT_LIMITS } from '../../src/export/feature.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import type { Log } from '../../src/log/log.ts';
import { startCommand } from '../support/command.ts';
import { newFile, openDatabase, withNumbers } from '../support/databases.ts';
import { clusterAddress, temporaryFolder } from '../support/engine.ts';
import { filledFile } from '../support/filled.ts';
import { collectGarbage } from '../support/heap.ts';
import { request } from '../support/http.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { setLimits } from '../support/overload.ts';
import { startProcesses } from '../support/processes.ts';
import { openSocket, readAll, requestText } from '../support/raw.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { optionsFor, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const TOO_SLOW = 'The client has read too slowly.';
const NOTE = { json: { title: 'a', body: 'b' } };
/** Notes of 100,000 characters: more than the system and both ends keep of what nobody reads. */
const MANY = 150;

const TEMPLATE = join(temporaryFolder({ after }), 'large.db');

async function largeFile(t: TestContext): Promise<string> {
  const path = newFile(t);
  if (existsSync(TEMPLATE)) {
    copyFileSync(TEMPLATE, path);
    return path;
  }
  const database = await openDatabase(t, path);
  const sql = `${withNumbers(MANY)}
    INSERT INTO notes (title, body, number) SELECT n, printf('%.*c', 100000, 'x'), n FROM numbers`;
  await database.transact([{ sql }]);
  await database.close();
  copyFileSync(path, TEMPLATE);
  return path;
}

/** Begins an export, of which the client has read nothing yet. */
async function begin(url: string, headers = {}): Promise<IncomingMessage> {
  // A cut may come before anybody reads.
  const ignore = () => {};
  const sent = get(`${url}/export`, { agent: false, headers }).on('error', ignore);
  const [message] = await once(sent, 'response');
  return message.pause().on('error', ignore);
}

/** Resolves with the rest of an export; rejects if it is cut off. */
async function rest(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += chunk;
  return text;
}

async function clusterWith(t: TestContext, file: string) {
  const standIn = await startStandIn(t);
  const db = clusterAddress(standIn.nodes);
  await runInProcess(['import', '--db', db], { input: await exported(file) });
  return { standIn, db };
}

for (const kind of ['file', 'cluster'] as const)
  test(`export over HTTP: the bytes of the command, from a snapshot of a ${kind}`, async (t) => {
    // The copy of a cluster is complete when its export begins.
    const db =
      kind === 'file' ? await largeFile(t) : (await clusterWith(t, await filledFile(t, 200))).db;
    const service = await startService(t, { db });
    const before = await exported(db);
    const message = await begin(service.url);
    assert.equal(message.statusCode, 200);
    assert.equal(message.headers['cache-control'], 'no-store');
    assert.equal((await service.request('PUT', `/notes/${MANY}`, NOTE)).status, 200);
    assert.equal((await service.request('DELETE', `/notes/${MANY - 1}`)).status, 204);
    assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
    assert.ok((await rest(message)) === before);
    const { text } = await service.request('GET', '/export');
    assert.ok(text !== before && text === (await exported(db)));
  });

test('export over HTTP: of a database in memory, to import; HEAD has the headers', async (t) => {
  const service = await startService(t, { db: ':memory:' });
  // They hold nothing.
  for (let count = 0; count < 10; count += 1) {
    const { status, headers } = await service.request('HEAD', '/export');
    assert.deepEqual([status, headers['content-type']], [200, 'application/x-ndjson']);
  }
  assert.equal((await service.request('GET', '/export?limit=5')).status, 422);
  const empty = (await service.request('GET', '/export')).text;
  assert.match(empty, /^{"type":"notes-server",.*}\n{"type":"end","records":0}\n$/);
  const json = { title: 'a\u0000\u{10ffff}', body: '"\n', tags: ['x', 'y'] };
  await service.request('POST', '/notes', { json });
  const { text } = await service.request('GET', '/export');
  const db = newFile(t);
  await runInProcess(['import', '--db', db], { input: text });
  assert.equal(await exported(db), text);
  const { json: note } = await (await startService(t, { db })).request('GET', '/notes/1');
  assert.deepEqual([note.title, note.body], [json.title, json.body]);
});

test('export over HTTP: one for each client of several processes', async (t) => {
  const db = await largeFile(t);
  const { url } = await startProcesses(t, 2, ['--db', db]);
  await request(url, 'POST', '/notes', NOTE);
  const beginSome = () => Promise.all(Array.from({ length: 6 }, () => begin(url)));
  const reading = (await beginSome()).filter(({ statusCode }) => statusCode === 200);
  assert.equal(reading.length, 1);
  const statuses = (await beginSome()).map(({ statusCode }) => statusCode);
  assert.deepEqual(new Set(statuses), new Set([503]));
  assert.ok((await rest(reading[0] ?? assert.fail())) === (await exported(db)));
  assert.equal((await begin(url)).statusCode, 200);
});

test('export over HTTP: one for each client, although several arrive in one turn', async (t) => {
  const service = await startService(t, { db: await largeFile(t) });
  const sockets = await Promise.all(Array.from({ length: 4 }, () => openSocket(service)));
  const ask = (method: string) => {
    for (const socket of sockets) socket.write(requestText(`${method} /export`));
    return Promise.all(sockets.map(async (each) => String(await once(each, 'data')).slice(9, 12)));
  };
  // Connections are accepted one after the other.
  await ask('HEAD');
  assert.deepEqual((await ask('GET')).sort(), ['200', '503', '503', '503']);
  for (const socket of sockets) socket.destroy();
});

test('export over HTTP: one for each client, two in all', async (t) => {
  const db = await largeFile(t);
  const service = await startService(t, { db, trustProxy: true });
  const as = (client: number) => ({ 'x-forwarded-for': `192.0.2.${client}` });
  const ask = (client: number) => service.request('GET', '/export', { headers: as(client) });
  const first = await begin(service.url, as(1));
  const again = await ask(1);
  assert.deepEqual(
    [again.status, again.headers['retry-after'], again.json.detail],
    [503, '1', 'This client is reading an export already.'],
  );
  const second = await begin(service.url, as(2));
  const { status, json } = await ask(3);
  assert.deepEqual([status, json.detail], [503, 'This process is sending 2 exports already.']);
  for (const client of [1, 3]) {
    const head = await service.request('HEAD', '/export', { headers: as(client) });
    assert.deepEqual([head.status, head.headers['content-length']], [200, undefined]);
  }
  // Those who do not read hold up nobody.
  assert.equal((await service.request('POST', '/notes', NOTE)).status, 201);
  first.destroy();
  await until(async () => (await ask(3)).status === 200);
  assert.ok((await rest(second)).endsWith(`"records":${MANY}}\n`));
  assert.equal((await ask(2)).status, 200);
});

test('export over HTTP: keys for reading may, and a removed one is cut off', async (t) => {
  const apiKeysFile = join(temporaryFolder(t), 'keys');
  writeFileSync(apiKeysFile, 'one name=one access=read\ntwo\n');
  const db = await largeFile(t);
  const headers = { 'x-api-key': 'one' };
  const log = { writes: () => false, write() {}, flush() {} };
  const options = { ...optionsFor('--db', db), apiKeysFile };
  const app = await startApp(options, log);
  t.after(() => app.close());
  assert.ok((await rest(await begin(app.address, headers))).endsWith(`${MANY}}\n`));
  const message = await begin(app.address, headers);
  const old = await openSocket({ port: Number(new URL(app.address).port) });
  const received = readAll(old);
  old.once('data', () => old.pause());
  old.write(requestText('GET /export', ['x-api-key: two']).replace('/1.1', '/1.0'));
  await once(old, 'pause');
  writeFileSync(apiKeysFile, 'three\n');
  await app.reloadKeys();
  await assert.rejects(rest(message), { code: 'ECONNRESET' });
  old.resume();
  assert.doesNotMatch(await received, /"type":"end"/);
});

for (const [what, limits, reads] of [
  ['nothing for a while', { stalledMs: 500, checkIntervalMs: 10 }, false],
  ['too slowly', { chunkMs: 50 }, true],
] as const)
  test(`export over HTTP: who reads ${what} is cut off`, async (t) => {
    setLimits(t, HTTP_LIMITS, limits);
    const service = await startService(t, { db: await largeFile(t) });
    const late = await begin(service.url);
    await until(async () => {
      if (reads) late.read(1);
      // Its limit must not depend on an object that is collected.
      collectGarbage();
      // On a busy machine, the limit may cut off this one, too.
      const next = await begin(service.url).catch(() => undefined);
      return next?.destroy().statusCode === 200;
    });
    await assert.rejects(rest(late), { code: 'ECONNRESET' });
  });

test('export over HTTP: a stop waits for who reads, and leaves no log', async (t) => {
  for (const isRead of [true, false]) {
    if (!isRead) setLimits(t, HTTP_LIMITS, { closeMs: 100 });
    const db = await largeFile(t);
    const service = await startService(t, { db });
    const message = await begin(service.url);
    await service.request('POST', '/notes', NOTE);
    assert.ok(existsSync(`${db}-wal`));
    const closed = service.close();
    if (isRead) assert.ok((await rest(message)).endsWith(`"records":${MANY}}\n`));
    await closed;
    if (!isRead) await assert.rejects(rest(message), { code: 'ECONNRESET' });
    assert.ok(!existsSync(`${db}-wal`));
  }
});

for (const [what, limits, reason] of [
  ['the end of a key', {}, 'The key has expired or was removed.'],
  // What has been read never suffices, although each part is read in time.
  [
    'an export that is read too slowly',
    { graceMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY },
    TOO_SLOW,
  ],
] as const)
  test(`export over HTTP: ${what} frees the place, and is no fault in the log`, async (t) => {
    const apiKeysFile = join(temporaryFolder(t), 'keys');
    writeFileSync(apiKeysFile, 'one\ntwo');
    const ends: unknown[] = [];
    const write: Log['write'] = (level, text, fields) => {
      if (text === 'stream ended') ends.push([level, fields?.error, fields?.reason]);
    };
    const options = { ...optionsFor('--db', await largeFile(t)), apiKeysFile };
    const app = await startApp(options, { writes: () => true, write, flush() {} });
    t.after(() => app.close());
    setLimits(t, EXPORT_LIMITS, limits);
    const message = await begin(app.address, { 'x-api-key': 'one' });
    if (reason !== TOO_SLOW) {
      writeFileSync(apiKeysFile, 'two');
      await app.reloadKeys();
    }
    await assert.rejects(rest(message), { code: 'ECONNRESET' });
    await until(() => ends.length > 0);
    assert.deepEqual(ends, [['info', undefined, reason]]);
    setLimits(t, EXPORT_LIMITS, { graceMs: 0, bytesPerSecond: 1 });
    const next = await begin(app.address, { 'x-api-key': reason === TOO_SLOW ? 'one' : 'two' });
    assert.ok((await rest(next)).endsWith(`"records":${MANY}}\n`));
  });

test('export over HTTP: 503 if the file has moved or the copy fails', async (t) => {
  const db = await filledFile(t, 1);
  const service = await startService(t, { db });
  renameSync(db, `${db}-away`);
  assert.equal((await service.request('GET', '/export')).status, 503);
  assert.equal((await service.request('HEAD', '/export')).status, 200, 'it opens no snapshot');
  copyFileSync(`${db}-away`, db);
  assert.equal((await service.request('GET', '/export')).status, 503);
  renameSync(`${db}-away`, db);
  assert.equal((await service.request('GET', '/export')).status, 200);

  const { standIn, db: cluster } = await clusterWith(t, db);
  const other = await startService(t, { db: cluster });
  for (const fault of ['stale', 'forbidden'] as const) {
    standIn.faults.push({ fault, of: 'backup' });
    const { status, json } = await other.request('GET', '/export');
    assert.deepEqual([status, json.detail], [503, 'The database cannot be exported now.']);
    assert.equal((await other.request('GET', '/export')).status, 200);
  }
  const { TMPDIR = '' } = process.env;
  t.after(() => Object.assign(process.env, { TMPDIR }));
  process.env.TMPDIR = join(db, 'missing');
  for (const each of [other, await startService(t, { db: ':memory:' })])
    assert.equal((await each.request('GET', '/export')).status, 503);
});

test('export over HTTP: the service keeps its locks', async (t) => {
  const db = await filledFile(t, 1);
  const url = await startCommand(t, ['--port', '0', '--db', db]).ready();
  await request(url, 'POST', '/notes', NOTE);
  assert.equal((await request(url, 'GET', '/export')).status, 200);
  await assert.rejects(runInProcess(['check', '--repair', db]), /another process is using it/);
});
