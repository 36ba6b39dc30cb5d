// Answers that are lost, late or not those of the service.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Ends } from '../support/engine.ts';
import { type CommandOutput, runInProcess } from '../support/in-process-command.ts';
import { type SyncedFolder, startSynced } from '../support/synced-folder.ts';

/** What becomes of an answer; it is lost unless this answers in its place, or returns true. */
type Interfere = (sent: IncomingMessage, answer: ServerResponse, count: number) => boolean;

/** Starts a proxy in front of the service; returns how to run the command through it. */
async function startProxy(
  t: Ends,
  { service, folder }: SyncedFolder,
  interfere: Interfere,
  before: (sent: IncomingMessage) => Promise<void> = async () => {},
): Promise<(...args: string[]) => Promise<CommandOutput>> {
  let count = 0;
  const server = createServer(async (sent, answer) => {
    const { method, url, headers } = sent;
    if (method !== 'GET') count += 1;
    const own = count;
    await before(sent);
    const forwarded = request(`${service.url}${url}`, { method, headers }, (received) => {
      if (method !== 'GET' && !interfere(sent, answer, own)) {
        received.resume().on('end', () => answer.destroy());
        return;
      }
      if (answer.writableEnded) received.resume();
      else received.pipe(answer.writeHead(received.statusCode ?? 0, received.headers));
    });
    sent.pipe(forwarded);
  });
  t.after(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return (...args) => runInProcess(['sync', folder, `http://127.0.0.1:${port}`, ...args]);
}

test('sync: an answer that is lost is no conflict, and nothing is done twice', async (t) => {
  const synced = await startSynced(t);
  // Each first answer is lost.
  const run = await startProxy(t, synced, (_sent, _answer, count) => count % 2 === 0);
  for (const path of ['a.md', 'b.md', 'c.md', 'd.md'])
    synced.write(path, `---\ntags: [x]\n---\n${path}`);
  await run();
  synced.write('a.md', '---\ntags: [y]\n---\nchanged');
  synced.remove('b.md');
  renameSync(synced.at('c.md'), synced.at('moved.md'));
  await run();
  await run();
  const files = synced.files();
  assert.deepEqual(Object.keys(files), ['a.md', 'd.md', 'moved.md']);
  assert.deepEqual(await synced.notes(), files);
  assert.deepEqual((await synced.note('a.md')).tags, ['y']);
  const trash = (await synced.service.request('GET', '/trash')).json;
  assert.equal(trash.items.length, 1, 'only the note of b.md was deleted');
  assert.equal((await run()).output, '');
});

test('sync: a text whose answer was lost for good is what both sides had', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const run = await startProxy(t, synced, () => false);
  synced.write('a.md', 'sent');
  synced.write('new.md', 'sent');
  assert.equal((await run()).status, 2);
  assert.equal((await synced.notes())['a.md'], 'sent');
  synced.write('a.md', 'edited');
  synced.write('new.md', 'edited');
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'edited', 'new.md': 'edited' });
  assert.deepEqual(await synced.notes(), synced.files());
});

test('sync: what others write just before a request is kept', async (t) => {
  const synced = await startSynced(t);
  const changed = new Set<string>();
  const run = await startProxy(
    t,
    synced,
    () => true,
    async ({ method, url = '' }) => {
      const [, name] = /^\/named\/([^?]*)/.exec(url) ?? [];
      if (method === 'GET' || name === undefined || changed.has(name)) return;
      changed.add(name);
      await synced.put(name, `theirs ${name}`);
    },
  );
  for (const path of ['send.md', 'delete.md', 'move.md']) synced.write(path, path);
  await synced.sync();
  synced.write('send.md', 'mine');
  synced.remove('delete.md');
  renameSync(synced.at('move.md'), synced.at('moved.md'));
  await run();
  await synced.sync();
  const files = synced.files();
  assert.deepEqual(await synced.notes(), files);
  const texts = new Set(Object.values(files));
  for (const text of ['mine', ...['send', 'delete', 'move'].map((name) => `theirs ${name}.md`)])
    assert.ok(texts.has(text), text);
});

test('sync: what others change during a run is noticed by the next one', async (t) => {
  const synced = await startSynced(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  const run = await startProxy(
    t,
    synced,
    () => true,
    async ({ method }) => {
      if (method === 'GET') return;
      await synced.put('b.md', 'theirs');
      await synced.put('new.md', 'theirs');
      await synced.service.request('DELETE', '/named/c.md');
    },
  );
  synced.write('a.md', 'mine');
  await run();
  assert.deepEqual(Object.keys(synced.files()), ['a.md', 'b.md', 'c.md']);
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'mine', 'b.md': 'theirs', 'new.md': 'theirs' });
});

test('sync: a deletion that was not planned is looked at twice, in the next run', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  await synced.put('a.md', 'theirs');
  const run = await startProxy(
    t,
    synced,
    () => true,
    async ({ url = '' }) => {
      if (url.startsWith('/named/a.md')) await synced.service.request('DELETE', '/named/a.md');
    },
  );
  await run();
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
  assert.equal((await synced.sync()).lines[0], 'delete here a.md');
});

test('sync: waits as long as the service asks for', async (t) => {
  const synced = await startSynced(t, { rateLimit: 60 });
  for (let n = 0; n < 200; n += 1) synced.write(`${n}.md`, `${n}`);
  let busy = 0;
  const run = await startProxy(t, synced, (_sent, answer, count) => {
    if (count % 3 === 0) return true;
    busy += 1;
    answer.writeHead(count % 3 === 1 ? 429 : 503, { 'retry-after': '2' }).end();
    return true;
  });
  const { status } = await run();
  assert.equal(status, 0);
  assert.ok(busy > 0);
});

test('sync: without an answer after five tries, nothing is done', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  let tries = 0;
  const run = await startProxy(t, synced, () => {
    tries += 1;
    return false;
  });
  const { status, warnings } = await run();
  assert.equal(status, 2);
  assert.match(warnings, /^notes-server: no answer from http:\/\/127\.0\.0\.1:\d+: /);
  assert.equal(tries, 5);
});

test('sync: a key that only reads can pull, and is refused otherwise', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.put('b.md', 'b');
  const run = await startProxy(t, synced, (_sent, answer) => {
    const problem = { type: 'about:blank', title: 'Forbidden', status: 403, detail: 'Only reads.' };
    answer
      .writeHead(403, { 'content-type': 'application/problem+json' })
      .end(JSON.stringify(problem));
    return true;
  });
  const refused = await run();
  assert.deepEqual([refused.status, refused.warnings], [2, 'notes-server: Only reads.\n']);
  assert.equal((await run('--pull')).status, 0);
  assert.deepEqual(synced.files(), { 'a.md': 'a', 'b.md': 'b' });
});
