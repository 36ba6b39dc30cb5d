// Names that notes get when they are created, and that changes give them or take away.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApp } from '../../../src/app.ts';
import type { Database } from '../../../src/storage/database.ts';
import { LAST_NUMBER } from '../../../src/storage/numbers.ts';
import { newFile } from '../../support/databases.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { type Answer, request as ask } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { expected } from '../../support/records.ts';
import { optionsFor, startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';
import { clientOf, lines, NOTE } from '../../support/tagged-notes.ts';

const CONNECTIONS = 32;
const TEXT = { body: '# Log\n\nfirst', headers: { 'content-type': 'text/markdown' } };

/** Returns what reads and changes the notes of a service, and asserts each status. */
function renamerOf(target: Pick<Target, 'request'>) {
  const { send } = clientOf(target);
  return {
    send,
    patch: (path: string, json: object, status = 200) => send('PATCH', path, status, { json }),
    nameOf: async (id: number) => (await send('GET', `/notes/${id}?include=name`, 200)).json.name,
    violations: ({ json }: Answer) =>
      json.errors.map(({ code, pointer, ...rest }: Record<string, string>) => [
        code,
        pointer ?? `${rest.in} ${rest.field}`,
      ]),
  };
}

/** Asserts that renames and creations at once give each name to one note. */
async function assertRaceless(target: Pick<Target, 'request'>, round: number): Promise<void> {
  const { request } = target;
  const { send } = renamerOf(target);
  const [from, to] = [`from${round}`, `to${round}`];
  const own = (await send('PUT', `/named/${from}`, 201, { json: NOTE })).json.id;
  const before = (await request('GET', '/notes')).json.total;
  const all = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, index) => {
      const json = { ...NOTE, body: `${index}`, name: to };
      if (index % 4 === 0) return request('PATCH', `/named/${from}`, { json: { name: to } });
      if (index % 4 === 1) return request('POST', '/notes', { json });
      if (index % 4 === 2) return request('PUT', `/named/${to}`, { json });
      return request('PUT', `/named/${from}`, { json });
    }),
  );
  const refusals = all.filter(({ status }) => status === 422);
  for (const { json } of refusals) assert.equal(json.errors[0].code, 'taken');
  const unexpected = all.filter(({ status }) => ![200, 201, 404, 422].includes(status));
  assert.deepEqual(unexpected, []);
  const created = all.filter(({ status }) => status === 201);
  const { json } = await request('GET', '/notes?include=name&limit=100&order=-id');
  assert.equal(json.total, before + created.length);
  const named = json.items.filter(({ name }: { name: string }) => name === to);
  assert.equal(named.length, 1, 'one note has the name');
  // Each note that was created at a name has it, unless it was renamed.
  const shown = json.items.filter(({ id }: { id: number }) => id >= own);
  for (const { name } of shown) assert.ok(name === from || name === to, name);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('names: a note is created with one, in JSON, in lines and beside a text', async (t) => {
      const target = await start(t);
      const { send, nameOf, violations } = renamerOf(target);
      await send('POST', '/notes', 201, { json: { ...NOTE, name: 'a', tags: ['x'] } });
      const all = lines({ ...NOTE, name: 'b' }, { ...NOTE, name: null }, { ...NOTE, name: 'c' });
      await send('POST', '/notes', 201, all);
      await send('POST', '/notes?name=d&tags=x', 201, TEXT);
      const names = await Promise.all([1, 2, 3, 4, 5].map(nameOf));
      assert.deepEqual(names, ['a', 'b', null, 'c', 'd']);
      assert.equal((await send('GET', '/named/d', 200)).json.id, 5);
      const state = (await send('HEAD', '/notes', 200)).headers.etag;
      for (const [path, parts, refused] of [
        ['/notes', { json: { ...NOTE, name: 'a', tags: ['new'] } }, [['taken', '#/name']]],
        [
          '/notes',
          lines({ ...NOTE, name: 'e' }, { ...NOTE, name: 'a' }, NOTE, { ...NOTE, name: 'd' }),
          [
            ['taken', '#/1/name'],
            ['taken', '#/3/name'],
          ],
        ],
        ['/notes', lines({ ...NOTE, name: 'e' }, { ...NOTE, name: 'e' }), [['taken', '#/1/name']]],
        ['/notes?name=a', TEXT, [['taken', 'query name']]],
        ['/notes?name=e', { json: NOTE }, [['unknown', 'query name']]],
        ['/notes', { json: { ...NOTE, name: 'a//b' } }, [['pattern', '#/name']]],
      ] as const)
        assert.deepEqual(violations(await send('POST', path, 422, parts)), refused);
      assert.equal((await send('HEAD', '/notes', 200)).headers.etag, state);
      assert.equal((await send('GET', '/tags', 200)).json.total, 1);
      // What was refused has left the name free.
      await send('POST', '/notes', 201, { json: { ...NOTE, name: 'e' } });
    });

    test('names: a repetition with the same key is the first request', async (t) => {
      const { send } = renamerOf(await start(t));
      const once = { json: { ...NOTE, name: 'a' }, headers: { 'idempotency-key': 'k' } };
      const first = await send('POST', '/notes', 201, once);
      await send('PATCH', '/notes/1', 200, { json: { name: 'b' } });
      const again = await send('POST', '/notes', 201, once);
      assert.deepEqual([again.json, again.headers['idempotent-replayed']], [first.json, 'true']);
      await send('GET', '/named/a', 404);
      assert.equal((await send('GET', '/notes', 200)).json.total, 1);
    });

    test('names: a note with another one keeps all else', async (t) => {
      const { send, patch, nameOf } = renamerOf(await start(t));
      await send('PUT', '/named/a', 201, { json: { ...NOTE, tags: ['x'] } });
      await send('PUT', '/notes/1', 200, { json: { ...NOTE, body: 'c' } });
      await send('POST', '/notes/1/comments', 201, { json: { body: 'c' } });
      assert.equal((await send('GET', '/named/a', 200)).json.id, 1);
      const since = (await send('GET', '/changes', 200)).json.next;
      const renamed = await patch('/named/a', { name: 'b' });
      assert.deepEqual(renamed.json, expected({ ...NOTE, id: 1, body: 'c' }));
      const { items } = (await send('GET', `/changes?since=${since}`, 200)).json;
      assert.deepEqual(
        items.map(({ id, type }: Record<string, string>) => [`"${id}"`, type]),
        [[renamed.headers.etag, 'note.updated']],
      );
      await send('GET', '/named/a', 404);
      await send('PATCH', '/named/a', 404, { json: { body: 'd' } });
      const read = await send('GET', '/named/b?include=tags,name', 200);
      assert.deepEqual([read.json.tags, read.json.name], [['x'], 'b']);
      assert.equal((await send('GET', '/notes/1/comments', 200)).json.total, 1);
      assert.equal((await send('GET', '/notes/1/versions', 200)).json.total, 1);
      // The trash carries it.
      await send('DELETE', '/named/b', 204);
      await send('POST', '/trash/1/restore', 200);
      assert.equal(await nameOf(1), 'b');
      const exported = await send('GET', '/export', 200);
      assert.match(exported.text, /"type":"note_name"[^\n]*"name":"b"/);
      // Another note gets the name that is free, and this one can have none.
      await send('PUT', '/named/a', 201, { json: NOTE });
      // The name is in memory.
      for (const _ of [1, 2]) await send('GET', '/named/b', 200);
      await patch('/notes/1', { name: null, title: 'none' });
      await send('GET', '/named/b', 404);
      assert.deepEqual([await nameOf(1), await nameOf(2)], [null, 'a']);
      await patch('/notes/1', { name: 'b' });
      assert.equal((await send('GET', '/named/b', 200)).json.title, 'none');
    });

    test('names: one that another note has is refused, and changes nothing', async (t) => {
      const { send, patch, violations } = renamerOf(await start(t));
      for (const name of ['a', 'b'])
        await send('PUT', `/named/${name}`, 201, { json: { ...NOTE, tags: [name] } });
      const state = async () => {
        const list = await send('GET', '/notes?include=name,tags,times,etag', 200);
        return [list.text, (await send('GET', '/changes', 200)).text];
      };
      const before = await state();
      for (const path of ['/notes/1', '/named/a'])
        for (const json of [{ name: 'b' }, { name: 'b', title: 'c', tags: ['new'] }])
          assert.deepEqual(violations(await patch(path, json, 422)), [['taken', '#/name']]);
      // A condition is checked first, and so is whether there is a note.
      const headers = { 'if-match': '"00000000-1"' };
      for (const name of ['b', 'free', null])
        await send('PATCH', '/notes/1', 412, { json: { name }, headers });
      await send('PATCH', '/notes/9', 404, { json: { name: 'b' } });
      await send('PATCH', '/named/c', 404, { json: { name: 'd' } });
      assert.deepEqual(violations(await patch('/notes/1', { name: 'b/' }, 422)).length, 1);
      assert.deepEqual(await state(), before);
    });

    test('names: a PUT of what a client has read leaves the name', async (t) => {
      const { send, nameOf } = renamerOf(await start(t));
      await send('PUT', '/named/a', 201, { json: { ...NOTE, name: 'ignored' } });
      const { json } = await send('GET', '/notes/1?include=name,tags,times,etag', 200);
      for (const path of ['/notes/1', '/named/a'])
        for (const name of [json.name, 'other', null, 7])
          await send('PUT', path, 200, { json: { ...json, name } });
      assert.equal(await nameOf(1), 'a');
    });

    test('names: renames and creations at once give each name to one note', async (t) => {
      const target = await start(t);
      for (const round of [1, 2, 3]) await assertRaceless(target, round);
    });

    test('names: renames at once are carried out as if one after the other', async (t) => {
      const target = await start(t);
      const { send, nameOf } = renamerOf(target);
      for (const name of ['a', 'b', 'c']) await send('PUT', `/named/${name}`, 201, { json: NOTE });
      const rename = (id: number, name: string | null) =>
        target.request('PATCH', `/notes/${id}`, { json: { name } });
      const all = await Promise.all([
        ...[rename(1, 'd'), rename(2, 'a'), rename(3, 'a'), rename(1, null), rename(3, 'd')],
        target.request('POST', '/notes', { json: { ...NOTE, name: 'b' } }),
      ]);
      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200, 422, 200, 200, 201],
      );
      assert.deepEqual(await Promise.all([1, 2, 3, 4].map(nameOf)), [null, 'a', 'd', 'b']);
    });
  });

test('names: several processes give each name to one note', async (t) => {
  const { url } = await startProcesses(t, 2, ['--log-level', 'silent']);
  for (const round of [1, 2, 3])
    await assertRaceless({ request: (...args) => ask(url, ...args) }, round);
});

test('names: one is free after another program has deleted its note without it', async (t) => {
  const file = newFile(t);
  const { send, patch, nameOf } = renamerOf(await startService(t, { db: file }));
  for (const name of ['a', 'b', 'c']) await send('PUT', `/named/${name}`, 201, { json: NOTE });
  await send('POST', '/notes', 201, { json: NOTE });
  const sql = 'PRAGMA foreign_keys = OFF; DELETE FROM notes WHERE id IN (1, 3)';
  await beside(file, (other) => other.execute(sql));
  await patch('/notes/2', { name: 'a' });
  await patch('/notes/4', { name: 'c' });
  assert.deepEqual([await nameOf(2), await nameOf(4)], ['a', 'c']);
});

/** Each write at the name "log", and whether it creates a note there. */
const WRITES: Readonly<Record<string, readonly [...Parameters<Target['request']>, number]>> = {
  PUT: ['PUT', '/named/log', { json: { title: 'new', body: 'text' } }, 201],
  PATCH: ['PATCH', '/named/log', { json: { title: 'new' } }, 404],
  'PATCH of tags': ['PATCH', '/named/log', { json: { tags: ['new'] } }, 404],
  'PATCH of single tags': ['PATCH', '/named/log', { json: { add_tags: ['new'] } }, 404],
  'PATCH of the name': ['PATCH', '/named/log', { json: { name: 'new' } }, 404],
  DELETE: ['DELETE', '/named/log', {}, 404],
  append: ['POST', '/named/log/append', { json: { text: 'new' } }, 201],
  'append with a key': [
    ...['POST', '/named/log/append'],
    { json: { text: 'new' }, headers: { 'idempotency-key': 'k' } },
    201,
  ] as const,
  edit: ['POST', '/named/log/edit', { json: { old_text: 'b', new_text: 'c' } }, 404],
};

for (const [name, [method, path, parts, status]] of Object.entries(WRITES))
  test(`names: ${name} at a name leaves a note alone that loses it meanwhile`, async (t) => {
    const log = { writes: () => false, write() {}, flush() {} };
    let isNext = false;
    const openDatabase = async (open: () => Promise<Database>): Promise<Database> => {
      const database = await open();
      return {
        ...database,
        async transact(statements) {
          if (!isNext) return database.transact(statements);
          isNext = false;
          // As another process does it.
          await database.transact([
            { sql: `UPDATE note_names SET name = 'other'` },
            { sql: `UPDATE notes SET number = ${LAST_NUMBER} + 1` },
          ]);
          return database.transact(statements);
        },
      };
    };
    const app = await startApp(optionsFor('--db', newFile(t)), log, { openDatabase });
    t.after(() => app.close());
    const { send, nameOf } = renamerOf({
      request: (...args) => ask(app.address, ...args),
    });
    await send('PUT', '/named/log', 201, { json: { ...NOTE, tags: ['x'] } });
    isNext = true;
    await send(method, path, status, parts);
    assert.ok(!isNext);
    const { title, body, tags } = (await send('GET', '/notes/1?include=tags', 200)).json;
    assert.deepEqual([title, body, tags, await nameOf(1)], ['a', 'b', ['x'], 'other']);
  });
