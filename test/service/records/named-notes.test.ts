// Notes at names that clients choose.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApp } from '../../../src/app.ts';
import type { Database } from '../../../src/storage/database.ts';
import { LAST_NUMBER } from '../../../src/storage/numbers.ts';
import { newFile } from '../../support/databases.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { request as send } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { expected } from '../../support/records.ts';
import { optionsFor, startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';

const NOTE = { title: 'a', body: 'b' };
const AT = '/named/backup';
const CONNECTIONS = 64;

/** Asserts that a name has exactly one note after requests that write it all at once. */
async function assertOneNote({ request }: Pick<Target, 'request'>, rounds: number): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    const path = `/named/n${round}`;
    const puts = await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, index) =>
        request('PUT', path, { json: { title: `${index}`, body: 'b', tags: [`t${index % 3}`] } }),
      ),
    );
    const statuses = puts.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(CONNECTIONS - 1).fill(200), 201]);
    assert.equal(new Set(puts.map(({ json }) => json.id)).size, 1);
  }
  // Half of them delete it.
  const both = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, index) =>
      index % 2 ? request('DELETE', AT) : request('PUT', AT, { json: NOTE }),
    ),
  );
  const count = (wanted: number) => both.filter(({ status }) => status === wanted).length;
  assert.equal(count(201) + count(200) + count(204) + count(404), CONNECTIONS);
  for (const path of ['/notes?named=true', '/notes'])
    assert.equal((await request('GET', path)).json.total, rounds + count(201) - count(204), path);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('names: a note is created, read, replaced, changed and deleted at its name', async (t) => {
      const { request } = await start(t);
      const missing = await request('GET', AT);
      assert.deepEqual([missing.status, missing.json.detail], [404, 'No note is named backup.']);
      const made = await request('PUT', AT, { json: { ...NOTE, tags: ['x'] } });
      assert.deepEqual([made.status, made.headers.location], [201, '/notes/1']);
      assert.deepEqual(made.json, expected({ id: 1, ...NOTE }));
      for (const _ of ['from the database', 'from memory']) {
        const read = await request('GET', AT);
        const same = await request('GET', '/notes/1');
        assert.deepEqual([read.status, read.text], [200, same.text]);
        const { date: _, 'content-location': at, 'x-request-id': _1, ...headers } = read.headers;
        const { date: _2, 'x-request-id': _3, ...others } = same.headers;
        assert.deepEqual([at, headers], ['/notes/1', others]);
      }
      assert.equal((await request('PUT', AT, { json: { title: 'c', body: 'd' } })).status, 200);
      const changed = await request('PATCH', AT, { json: { body: 'e' } });
      assert.deepEqual(changed.json, expected({ id: 1, title: 'c', body: 'e' }));
      const chosen = await request('GET', `${AT}?fields=id&include=name,tags`);
      assert.deepEqual(chosen.json, { id: 1, tags: ['x'], name: 'backup' });
      assert.equal((await request('DELETE', AT)).status, 204);
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const json = method === 'PATCH' ? { json: {} } : {};
        assert.equal((await request(method, AT, json)).status, 404, method);
      }
    });

    test('names: conditions decide between creating and replacing', async (t) => {
      const { request } = await start(t);
      const put = (headers: Record<string, string>, body = 'other') =>
        request('PUT', AT, { json: { ...NOTE, body }, headers });
      assert.equal((await put({ 'if-match': '*' })).status, 412);
      assert.equal((await put({ 'if-match': '"00000000-1"' })).status, 412);
      const made = await put({ 'if-none-match': '*' });
      assert.equal(made.status, 201);
      const refused = await put({ 'if-none-match': '*' });
      assert.deepEqual([refused.status, refused.headers.etag], [412, made.headers.etag]);
      const match = { 'if-match': String(made.headers.etag) };
      assert.equal((await put(match)).headers.etag, made.headers.etag);
      assert.equal((await put(match, 'new')).status, 200);
      assert.equal((await put(match, 'late')).status, 412);
      const headers = { 'if-none-match': '*' };
      const known = await request('GET', AT, { headers });
      assert.deepEqual([known.status, known.headers['content-location']], [304, '/notes/1']);
      assert.equal((await request('GET', '/notes')).json.total, 1);
    });

    test('names: one is free after its note is deleted, however that is done', async (t) => {
      const { request } = await start(t);
      for (const id of [1, 2, 3]) {
        const made = await request('PUT', AT, { json: NOTE });
        assert.deepEqual([made.status, made.json.id], [201, id]);
        assert.equal((await request('GET', AT)).json.id, id);
        assert.equal((await request('DELETE', id === 2 ? AT : `/notes/${id}`)).status, 204);
        const { status, json } = await request('GET', AT);
        assert.deepEqual([status, json.detail], [404, 'No note is named backup.']);
      }
    });

    test('names: an append creates the note, an edit does not', async (t) => {
      const { request } = await start(t);
      const append = (text: string, headers = {}) =>
        request('POST', `${AT}/append`, { json: { text }, headers });
      const blank = await append(' ');
      assert.deepEqual([blank.status, blank.json.errors[0].pointer], [422, '#/text']);
      assert.equal((await append('a', { 'if-match': '*' })).status, 412);
      const json = { old_text: 'first', new_text: '1' };
      const none = await request('POST', `${AT}/edit`, { json });
      assert.deepEqual([none.status, none.json.detail], [404, 'No note is named backup.']);
      const made = await append('first');
      assert.deepEqual([made.status, made.headers.location], [201, '/notes/1']);
      assert.deepEqual(made.json, expected({ id: 1, title: 'backup', body: 'first' }));
    });

    test('names: a repetition changes nothing, and never speaks of a deleted note', async (t) => {
      const { request } = await start(t);
      const send = async (key: string, json: object) => {
        const path = 'text' in json ? `${AT}/append` : `${AT}/edit`;
        const headers = { 'idempotency-key': key };
        const answer = await request('POST', path, { json, headers });
        const { detail, body = detail } = answer.json;
        return [answer.headers['idempotent-replayed'] ?? answer.status, body];
      };
      const [first, second] = [{ text: 'first' }, { text: 'second' }];
      const edit = { old_text: 'first', new_text: '1' };
      assert.deepEqual(await send('a', first), [201, 'first']);
      assert.deepEqual(await send('b', second), [200, 'first\nsecond']);
      assert.deepEqual(await send('c', edit), [200, '1\nsecond']);
      const repetitions = [['a', first] as const, ['b', second] as const, ['c', edit] as const];
      const repeatAll = () => Promise.all(repetitions.map(([key, json]) => send(key, json)));
      assert.deepEqual(await repeatAll(), Array(3).fill(['true', '1\nsecond']));
      await request('DELETE', '/notes/1');
      assert.deepEqual(await repeatAll(), Array(3).fill([404, 'No note is named backup.']));
      await request('PUT', AT, { json: { title: 'a', body: 'first' } });
      assert.deepEqual(await repeatAll(), Array(3).fill(['true', 'first']));
      assert.equal((await send('b', { text: 'other' }))[0], 422);
      assert.deepEqual(await send('d', second), [200, 'first\nsecond']);
    });

    test('names: of many appends with one key at once, one creates the note', async (t) => {
      const { request } = await start(t);
      const once = { json: { text: 'first' }, headers: { 'idempotency-key': 'k' } };
      const all = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => request('POST', `${AT}/append`, once)),
      );
      const answers = all.map(({ status, headers }) => [status, headers['idempotent-replayed']]);
      const created = answers.findIndex(([status]) => status === 201);
      assert.deepEqual(answers.splice(created, 1), [[201, undefined]]);
      assert.deepEqual(answers, Array(CONNECTIONS - 1).fill([200, 'true']));
      for (const { json } of all) assert.equal(json.body, 'first');
    });

    test('names: without a note, a key is checked before all else', async (t) => {
      const { request } = await start(t);
      const send = async (key: string, text: string, condition = {}) => {
        const headers = { 'idempotency-key': key, ...condition };
        const answer = await request('POST', `${AT}/append`, { json: { text }, headers });
        const { status, headers: given, json } = answer;
        return [status, given['idempotent-replayed'] ?? json.type?.split('/').at(-1), json.body];
      };
      const match = { 'if-match': '*' };
      // The note at the name is missing, but not the one of the first request.
      assert.deepEqual(await send('a', 'first'), [201, undefined, 'first']);
      assert.deepEqual(await send('b', ''), [200, undefined, 'first']);
      await request('DELETE', AT);
      const gone = [404, 'not-found', undefined];
      for (const condition of [match, { 'if-match': '"00000000-1"' }, {}])
        for (const [key, text] of [
          ['a', 'first'],
          ['b', ''],
        ] as const) {
          assert.deepEqual(await send(key, text, condition), gone, key);
          const reused = [422, 'idempotency-key-reused', undefined];
          for (const other of ['other', ' '])
            assert.deepEqual(await send(key, other, condition), reused, key);
        }
      assert.deepEqual(await send('c', 'new', match), [412, 'precondition-failed', undefined]);
      assert.deepEqual(await send('c', '', {}), [422, 'validation-failed', undefined]);
      // Another note has had the name meanwhile.
      assert.equal((await request('PUT', AT, { json: NOTE })).status, 201);
      assert.equal((await request('POST', '/trash/1/restore')).status, 200);
      assert.equal((await request('DELETE', AT)).status, 204);
      assert.equal((await request('GET', AT)).status, 404);
      for (const condition of [match, {}])
        for (const [key, text] of [
          ['a', 'first'],
          ['b', ''],
        ] as const)
          assert.deepEqual(await send(key, text, condition), [200, 'true', 'first']);
      assert.deepEqual(await send('a', 'other', match), [422, 'idempotency-key-reused', undefined]);
    });

    test('names: however many append to a new name at once, each text is there once', async (t) => {
      const { request } = await start(t);
      const texts = Array.from({ length: CONNECTIONS }, (_, index) => `line ${index}`);
      const all = await Promise.all(
        texts.map((text) => request('POST', `${AT}/append`, { json: { text } })),
      );
      const statuses = all.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [...Array(CONNECTIONS - 1).fill(200), 201]);
      const { body } = (await request('GET', AT)).json;
      assert.deepEqual(body.split('\n').sort(), texts.sort());
      assert.equal((await request('GET', '/notes')).json.total, 1);
    });

    test('names: what is refused creates no note', async (t) => {
      const { request } = await start(t);
      const unknown = await request('PUT', AT, { json: { ...NOTE, tag_ids: [7] } });
      assert.deepEqual([unknown.status, unknown.json.errors[0].pointer], [422, '#/tag_ids/0']);
      const put = async (name: string) =>
        (await request('PUT', `/named/${name}`, { json: NOTE })).status;
      for (const name of ['.', '..', 'a%2F', 'a%5Cb', 'a%0A', 'a'.repeat(513)])
        assert.equal(await put(name), 422, name);
      assert.equal(await put('a'.repeat(512)), 201);
      assert.equal((await request('GET', '/notes')).json.total, 1);
    });

    test('names: however many create one at once, there is one note', async (t) => {
      await assertOneNote(await start(t), 2);
    });
  });

test('names: however many create one in several processes, there is one note', async (t) => {
  const { url } = await startProcesses(t, 2, ['--log-level', 'silent']);
  await assertOneNote({ request: (...args) => send(url, ...args) }, 3);
});

test('names: a text is a named note, too', async (t) => {
  const { request } = await startService(t);
  const headers = { 'content-type': 'text/markdown' };
  const put = (body: string) => request('PUT', `${AT}?tags=x,y`, { body, headers });
  const log = { id: 1, title: 'Log', body: 'first' };
  assert.deepEqual((await put('# Log\n\nfirst')).json, expected(log));
  assert.equal((await put('# Log\n\nsecond')).status, 200);
  const { text } = await request('GET', AT, { headers: { accept: 'text/markdown' } });
  assert.equal(text, '# Log\n\nsecond');
});

test('names: a key that is too old is not known, whatever has been written since', async (t) => {
  const file = newFile(t);
  const { request } = await startService(t, { db: file });
  const append = () =>
    request('POST', `${AT}/append`, { json: { text: 'a' }, headers: { 'idempotency-key': 'k' } });
  assert.equal((await append()).status, 201);
  assert.equal((await request('DELETE', AT)).status, 204);
  assert.equal((await append()).status, 404);
  const age = 'UPDATE notes_server_answers SET answered_at = answered_at - 86400000';
  await beside(file, (other) => other.execute(age));
  assert.equal((await append()).status, 201);
});

test('names: one is free after another program has deleted its note without it', async (t) => {
  const file = newFile(t);
  const { request } = await startService(t, { db: file });
  await request('PUT', AT, { json: NOTE });
  await beside(file, (other) => other.execute('PRAGMA foreign_keys = OFF; DELETE FROM notes'));
  for (const [method, status] of [
    ['GET', 404],
    ['DELETE', 404],
    ['PUT', 201],
    ['PUT', 200],
    ['GET', 200],
  ] as const) {
    const answer = await request(method, AT, method === 'PUT' ? { json: NOTE } : {});
    assert.equal(answer.status, status, method);
  }
});

test('names: a note that others delete and restore meanwhile is written', async (t) => {
  const log = { writes: () => false, write() {}, flush() {} };
  let times = 0;
  const openDatabase = async (open: () => Promise<Database>): Promise<Database> => {
    const database = await open();
    const change = (...statements: string[]) =>
      database.transact(statements.map((sql) => ({ sql })));
    return {
      ...database,
      async transact(statements) {
        if (times === 0) return database.transact(statements);
        times -= 1;
        // Without a trace, so that the id can be used again.
        for (const table of ['notes', 'deleted_notes', 'erased_records'])
          await change(`DELETE FROM ${table}`);
        const rows = await database.transact(statements);
        await change(
          `INSERT INTO notes (id, title, body, number) SELECT 1, 'a', 'b', ${LAST_NUMBER} + 1`,
          `INSERT INTO note_names (note_id, name) VALUES (1, 'backup')`,
        );
        return rows;
      },
    };
  };
  const app = await startApp(optionsFor('--db', newFile(t)), log, { openDatabase });
  t.after(() => app.close());
  const put = async () => (await send(app.address, 'PUT', AT, { json: NOTE })).status;
  assert.equal(await put(), 201);
  times = 3;
  assert.equal(await put(), 200);
});

test('names: lists can show and select them', async (t) => {
  const { request } = await startService(t);
  await request('POST', '/notes', { json: { ...NOTE, tags: ['x'] } });
  for (const name of ['b', 'a'])
    await request('PUT', `/named/${name}`, { json: { ...NOTE, tags: ['x'] } });
  for (const path of ['/notes', '/tags/1/notes'])
    for (const [query, shown] of [
      ['', '1 null,2 b,3 a'],
      ['&named=true', '2 b,3 a'],
      ['&named=false&order=-id', '1 null'],
      ['&named=true&order=-updated&limit=1', '3 a'],
    ] as const) {
      const { json } = await request('GET', `${path}?include=name${query}`);
      const found = json.items.map(({ id, name }: Record<string, string>) => `${id} ${name}`);
      assert.equal(found.join(), shown, `${path} ${query}`);
    }
});
