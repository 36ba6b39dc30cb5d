// Reads that are answered from memory, and what no answer from memory may hide: changes by the
// service itself and by other programs.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { needsFile } from '../../support/engine.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { request } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { type Service, startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';

const RECORDS = ['/notes/1', '/notes/2', '/tags/1', '/notes/1/comments/1'];
const LISTS = [
  ...['/notes', '/notes?order=-updated&limit=1', '/notes?q=first'],
  ...['/notes/1/comments', '/tags/1/notes'],
];

const DATABASES = [
  { name: 'a file', options: {}, skip: needsFile },
  { name: 'a database in memory', options: { db: ':memory:' }, skip: false },
];

const note = (text: string) => ({ json: { title: text, body: text } });

async function startRead(t: TestContext, overrides: Parameters<typeof startService>[1] = {}) {
  const service = await startService(t, overrides);
  await service.request('POST', '/notes', note('first'));
  await service.request('POST', '/notes', note('second'));
  await service.request('POST', '/tags', { json: { name: 'tag' } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'comment' } });
  await service.request('PUT', '/notes/1/tags/1');
  await readAll(service);
  return service;
}

function readAll(service: Service) {
  return Promise.all([...RECORDS, ...LISTS].map((path) => service.request('GET', path)));
}

/** Resolves with how many single records and pages all processes have read from the engine. */
async function engineReads({ url }: { readonly url: string }): Promise<number> {
  const families = parseExposition((await request(url, 'GET', '/metrics')).text);
  const itemsOf = (batch: string) => sampleOf(families, 'notes_batch_items_sum', { batch });
  return itemsOf('read') + itemsOf('page');
}

async function counting<Result>(service: { readonly url: string }, work: () => Promise<Result>) {
  const before = await engineReads(service);
  const result = await work();
  return { result, reads: (await engineReads(service)) - before };
}

for (const { name, options, skip } of DATABASES) {
  test(`memory: answers known records and lists of ${name}`, { skip }, async (t) => {
    const service = await startRead(t, options);
    const answers = await readAll(service);
    const again = await counting(service, () => readAll(service));
    assert.deepEqual(
      again.result.map(({ status, text, headers }) => [status, text, headers.etag]),
      answers.map(({ text, headers }) => [200, text, headers.etag]),
    );
    assert.equal(again.reads, 0);

    const known = await counting(service, () =>
      Promise.all(
        [...RECORDS, ...LISTS].map((path, index) => {
          const headers = { 'if-none-match': String(answers[index]?.headers.etag) };
          return service.request('GET', path, { headers });
        }),
      ),
    );
    assert.deepEqual(
      known.result.map(({ status }) => status),
      answers.map(() => 304),
    );
    assert.equal(known.reads, 0);
  });

  test(`memory: shows writes to ${name} at once`, { skip }, async (t) => {
    const service = await startRead(t, options);
    const created = await service.request('POST', '/notes', note('third'));
    const put = await service.request('PUT', '/notes/1', note('replaced'));
    const patched = await service.request('PATCH', '/notes/2', { json: { body: 'patched' } });
    // Of the new states, memory has those of records that were read before.
    for (const [path, { text, headers }, misses] of [
      ['/notes/1', put, 0],
      ['/notes/2', patched, 0],
      ['/notes/3', created, 1],
    ] as const) {
      const { result, reads } = await counting(service, () => service.request('GET', path));
      assert.deepEqual([result.text, result.headers.etag, reads], [text, headers.etag, misses]);
    }
    const bodies = async () =>
      (await service.request('GET', '/notes')).json.items.map(({ body }: { body: string }) => body);
    assert.deepEqual(await bodies(), ['replaced', 'patched', 'third']);
    await service.request('DELETE', '/notes/2');
    assert.equal((await service.request('GET', '/notes/2')).status, 404);
    assert.deepEqual(await bodies(), ['replaced', 'third']);
    await service.request('DELETE', '/notes/1/tags/1');
    assert.equal((await service.request('GET', '/tags/1/notes')).json.total, 0);
    // A note takes its comments along.
    await service.request('DELETE', '/notes/1');
    for (const path of ['/notes/1/comments/1', '/notes/1/comments'])
      assert.equal((await service.request('GET', path)).status, 404);
  });
}

test('memory: shows changes by other programs at once', { skip: needsFile }, async (t) => {
  const service = await startRead(t);
  for (const [sql, shown] of [
    [`UPDATE notes SET body = 'changed' WHERE id = 1`, ['changed', 'second']],
    ['DELETE FROM notes WHERE id = 1', ['second']],
    [
      `DELETE FROM deleted_notes; DELETE FROM erased_records;
       INSERT INTO notes (id, title, body) VALUES (1, 'new', 'new')`,
      ['new', 'second'],
    ],
  ] as const) {
    await readAll(service);
    const { etag } = (await service.request('GET', '/notes')).headers;
    await beside(service.file, (connection) => connection.execute(sql));
    const record = await service.request('GET', '/notes/1');
    assert.equal(record.json.body, shown.length === 2 ? shown[0] : undefined);
    const headers = { 'if-none-match': String(etag) };
    const list = await service.request('GET', '/notes', { headers });
    assert.deepEqual(
      list.json.items.map(({ body }: { body: string }) => body),
      shown,
    );
  }
});

for (const [what, method, path, status] of [
  ['a removal', 'DELETE', '/tags/1', 204],
  ['a removal without an effect', 'DELETE', '/tags/0', 404],
  ['a tag that was there already', 'PUT', '/notes/1/tags/1', 204],
] as const) {
  test(`memory: shows what another program commits right before ${what}`, {
    skip: needsFile,
  }, async (t) => {
    const service = await startRead(t);
    const { write } = await beside(service.file, async (connection) => {
      await connection.execute(`BEGIN IMMEDIATE; UPDATE notes SET body = 'changed' WHERE id = 1`);
      const write = service.request(method, path);
      // The write waits for the lock before this is answered.
      assert.equal((await service.request('GET', '/tags/0')).status, 404);
      await connection.execute('COMMIT');
      return { write };
    });
    assert.equal((await write).status, status);
    assert.equal((await service.request('GET', '/notes/1')).json.body, 'changed');
    assert.equal((await service.request('GET', '/notes')).json.items[0].body, 'changed');
  });
}

test('memory: processes share --cache-size', { skip: needsFile }, async (t) => {
  const service = await startProcesses(t, 2, ['--cache-size', '1']);
  // One connection stays with one process.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const read = (path: string) => request(service.url, 'GET', path, { agent });
  // V8 takes two bytes for each of these characters, so the page takes 0.6 MiB.
  const json = { title: 'long', body: 'あ'.repeat(100_000) };
  for (let id = 1; id <= 3; id += 1) await request(service.url, 'POST', '/notes', { json, agent });
  for (const [path, misses] of [
    ['/notes/3', 0],
    ['/notes', 1],
  ] as const) {
    await read(path);
    const { reads } = await counting(service, () => read(path));
    assert.equal(reads, misses, path);
  }
});
