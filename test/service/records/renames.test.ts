// Names that notes get when they are created, and that changes give them or take away.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApp } from '../../../src/app.ts';
import type { Database } from '../../../src/storage/database.ts';
import { LAST_NUMBER } from '../../../src/storage/numbers.ts';
import { newFile } from '../../support/databases.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { request as send } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { optionsFor, startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';
import { lines, NOTE } from '../../support/tagged-notes.ts';

const CONNECTIONS = 32;
const TEXT = { body: '# Log\n\nfirst', headers: { 'content-type': 'text/markdown' } };

/** Returns what reads and changes the notes of a service, and asserts each status. */
function clientOf({ request }: Pick<Target, 'request'>) {
  const expectStatus = async (status: number, ...sent: Parameters<typeof request>) => {
    const answer = await request(...sent);
    assert.equal(answer.status, status, `${sent[0]} ${sent[1]} ${answer.text}`);
    return answer;
  };
  return {
    expectStatus,
    patch: (path: string, json: object, status = 200) =>
      expectStatus(status, 'PATCH', path, { json }),
    nameOf: async (id: number) =>
      (await expectStatus(200, 'GET', `/notes/${id}?include=name`)).json.name,
    violations: ({ json }: Awaited<ReturnType<typeof request>>) =>
      json.errors.map(({ code, pointer, ...rest }: Record<string, string>) => [
        code,
        pointer ?? `${rest.in} ${rest.field}`,
      ]),
  };
}

/** Asserts that renames and creations at once give each name to one note. */
async function assertRaceless(target: Pick<Target, 'request'>, round: number): Promise<void> {
  const { request } = target;
  const { expectStatus } = clientOf(target);
  const [from, to] = [`from${round}`, `to${round}`];
  const own = (await expectStatus(201, 'PUT', `/named/${from}`, { json: NOTE })).json.id;
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
      const { expectStatus, nameOf, violations } = clientOf(target);
      await expectStatus(201, 'POST', '/notes', { json: { ...NOTE, name: 'a', tags: ['x'] } });
      const all = lines({ ...NOTE, name: 'b' }, { ...NOTE, name: null }, { ...NOTE, name: 'c' });
      await expectStatus(201, 'POST', '/notes', all);
      await expectStatus(201, 'POST', '/notes?name=d&tags=x', TEXT);
      const names = await Promise.all([1, 2, 3, 4, 5].map(nameOf));
      assert.deepEqual(names, ['a', 'b', null, 'c', 'd']);
      assert.equal((await expectStatus(200, 'GET', '/named/d')).json.id, 5);
      const state = (await expectStatus(200, 'HEAD', '/notes')).headers.etag;
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
        assert.deepEqual(violations(await expectStatus(422, 'POST', path, parts)), refused);
      assert.equal((await expectStatus(200, 'HEAD', '/notes')).headers.etag, state);
      assert.equal((await expectStatus(200, 'GET', '/tags')).json.total, 1);
      // What was refused has left the name free.
      await expectStatus(201, 'POST', '/notes', { json: { ...NOTE, name: 'e' } });
    });

    test('names: a repetition with the same key is the first request', async (t) => {
      const { expectStatus } = clientOf(await start(t));
      const once = { json: { ...NOTE, name: 'a' }, headers: { 'idempotency-key': 'k' } };
      const first = await expectStatus(201, 'POST', '/notes', once);
      await expectStatus(200, 'PATCH', '/notes/1', { json: { name: 'b' } });
      const again = await expectStatus(201, 'POST', '/notes', once);
      assert.deepEqual([again.json, again.headers['idempotent-replayed']], [first.json, 'true']);
      await expectStatus(404, 'GET', '/named/a');
      assert.equal((await expectStatus(200, 'GET', '/notes')).json.total, 1);
    });

    test('names: a note with another one keeps all else', async (t) => {
      const { expectStatus, patch, nameOf } = clientOf(await start(t));
      await expectStatus(201, 'PUT', '/named/a', { json: { ...NOTE, tags: ['x'] } });
      await expectStatus(200, 'PUT', '/notes/1', { json: { ...NOTE, body: 'c' } });
      await expectStatus(201, 'POST', '/notes/1/comments', { json: { body: 'c' } });
      assert.equal((await expectStatus(200, 'GET', '/named/a')).json.id, 1);
      const since = (await expectStatus(200, 'GET', '/changes')).json.next;
      const renamed = await patch('/named/a', { name: 'b' });
      assert.deepEqual(renamed.json, { ...NOTE, id: 1, body: 'c', ...withDefaults(renamed.json) });
      const { items } = (await expectStatus(200, 'GET', `/changes?since=${since}`)).json;
      assert.deepEqual(
        items.map(({ id, type }: Record<string, string>) => [`"${id}"`, type]),
        [[renamed.headers.etag, 'note.updated']],
      );
      await expectStatus(404, 'GET', '/named/a');
      await expectStatus(404, 'PATCH', '/named/a', { json: { body: 'd' } });
      const read = await expectStatus(200, 'GET', '/named/b?include=tags,name');
      assert.deepEqual([read.json.tags, read.json.name], [['x'], 'b']);
      assert.equal((await expectStatus(200, 'GET', '/notes/1/comments')).json.total, 1);
      assert.equal((await expectStatus(200, 'GET', '/notes/1/versions')).json.total, 1);
      // The trash carries it.
      await expectStatus(204, 'DELETE', '/named/b');
      await expectStatus(200, 'POST', '/trash/1/restore');
      assert.equal(await nameOf(1), 'b');
      const exported = await expectStatus(200, 'GET', '/export');
      assert.match(exported.text, /"type":"note_name"[^\n]*"name":"b"/);
      // Another note gets the name that is free, and this one can have none.
      await expectStatus(201, 'PUT', '/named/a', { json: NOTE });
      // The name is in memory.
      for (const _ of [1, 2]) await expectStatus(200, 'GET', '/named/b');
      await patch('/notes/1', { name: null, title: 'none' });
      await expectStatus(404, 'GET', '/named/b');
      assert.deepEqual([await nameOf(1), await nameOf(2)], [null, 'a']);
      await patch('/notes/1', { name: 'b' });
      assert.equal((await expectStatus(200, 'GET', '/named/b')).json.title, 'none');
    });

    test('names: one that another note has is refused, and changes nothing', async (t) => {
      const { expectStatus, patch, violations } = clientOf(await start(t));
      for (const name of ['a', 'b'])
        await expectStatus(201, 'PUT', `/named/${name}`, { json: { ...NOTE, tags: [name] } });
      const state = async () => {
        const list = await expectStatus(200, 'GET', '/notes?include=name,tags,times,etag');
        return [list.text, (await expectStatus(200, 'GET', '/changes')).text];
      };
      const before = await state();
      for (const path of ['/notes/1', '/named/a'])
        for (const json of [{ name: 'b' }, { name: 'b', title: 'c', tags: ['new'] }])
          assert.deepEqual(violations(await patch(path, json, 422)), [['taken', '#/name']]);
      // A condition is checked first, and so is whether there is a note.
      const headers = { 'if-match': '"00000000-1"' };
      for (const name of ['b', 'free', null])
        await expectStatus(412, 'PATCH', '/notes/1', { json: { name }, headers });
      await expectStatus(404, 'PATCH', '/notes/9', { json: { name: 'b' } });
      await expectStatus(404, 'PATCH', '/named/c', { json: { name: 'd' } });
      assert.deepEqual(violations(await patch('/notes/1', { name: 'b/' }, 422)).length, 1);
      assert.deepEqual(await state(), before);
    });

    test('names: a PUT of what a client has read leaves the name', async (t) => {
      const { expectStatus, nameOf } = clientOf(await start(t));
      await expectStatus(201, 'PUT', '/named/a', { json: { ...NOTE, name: 'ignored' } });
      const { json } = await expectStatus(200, 'GET', '/notes/1?include=name,tags,times,etag');
      for (const path of ['/notes/1', '/named/a'])
        for (const name of [json.name, 'other', null, 7])
          await expectStatus(200, 'PUT', path, { json: { ...json, name } });
      assert.equal(await nameOf(1), 'a');
    });

    test('names: renames and creations at once give each name to one note', async (t) => {
      const target = await start(t);
      for (const round of [1, 2, 3]) await assertRaceless(target, round);
    });

    test('names: renames at once are carried out as if one after the other', async (t) => {
      const target = await start(t);
      const { expectStatus, nameOf } = clientOf(target);
      for (const name of ['a', 'b', 'c'])
        await expectStatus(201, 'PUT', `/named/${name}`, { json: NOTE });
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

/** The members that a note has beside those of {@link NOTE}. */
function withDefaults({ id: _, title: _1, body: _2, ...others }: Record<string, unknown>) {
  return others;
}

test('names: several processes give each name to one note', async (t) => {
  const { url } = await startProcesses(t, 2, ['--log-level', 'silent']);
  for (const round of [1, 2, 3])
    await assertRaceless({ request: (...args) => send(url, ...args) }, round);
});

test('names: one is free after another program has deleted its note without it', async (t) => {
  const file = newFile(t);
  const { expectStatus, patch, nameOf } = clientOf(await startService(t, { db: file }));
  for (const name of ['a', 'b', 'c'])
    await expectStatus(201, 'PUT', `/named/${name}`, { json: NOTE });
  await expectStatus(201, 'POST', '/notes', { json: NOTE });
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
    const { expectStatus, nameOf } = clientOf({
      request: (...args) => send(app.address, ...args),
    });
    await expectStatus(201, 'PUT', '/named/log', { json: { ...NOTE, tags: ['x'] } });
    isNext = true;
    await expectStatus(status, method, path, parts);
    assert.ok(!isNext);
    const { title, body, tags } = (await expectStatus(200, 'GET', '/notes/1?include=tags')).json;
    assert.deepEqual([title, body, tags, await nameOf(1)], ['a', 'b', ['x'], 'other']);
  });
