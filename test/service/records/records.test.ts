// The create/read/update/delete pattern, which is the same for notes, tags and comments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems, COLLECTIONS, inputOf, maxLengthOf, prepare } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';

const WRONG_TYPES = [null, 1, 1.5, true, [], ['a'], {}];
const BLANKS = [
  ...[' ', '\t\n\r\v\f', '\u00a0', '\u1680', '\u2000\u2003\u200a', '\u2028\u2029'],
  ...['\u202f\u205f', '\u3000', '\ufeff'],
];
/** Characters that show nothing, or nearly nothing, but are not white space. */
const NOT_BLANKS = ['\u0000', '\u200b', '\u00ad', '\u2800', '\u0301', ' . '];

for (const collection of COLLECTIONS) {
  const { label, path, fields, samples, added } = collection;
  const name = label.toLowerCase();
  const input = (text: string) => inputOf(collection, text);

  // The tests share one service, so each takes the list as the ones before it left it.
  test(`records: ${name}`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const create = async (text: string) => {
      const { status, json } = await service.request('POST', path, { json: input(text) });
      assert.equal(status, 201);
      return json;
    };

    await t.test(`records: ${name}: create, read, replace, list, delete`, async () => {
      const created = await service.request('POST', path, { json: input('one') });
      assert.equal(created.status, 201);
      assert.deepEqual(created.json, { id: 1, ...added, ...input('one') });
      assert.equal(created.headers.location, `${path}/1`);

      const read = await service.request('GET', `${path}/1`);
      assert.equal(read.status, 200);
      assert.deepEqual(read.json, created.json);

      const replaced = await service.request('PUT', `${path}/1`, { json: input('two') });
      assert.equal(replaced.status, 200);
      assert.deepEqual(replaced.json, { id: 1, ...added, ...input('two') });
      assert.deepEqual((await service.request('GET', `${path}/1`)).json, replaced.json);

      const list = await service.request('GET', path);
      assert.deepEqual(list.json, { items: [replaced.json], limit: 20, offset: 0, total: 1 });

      const deleted = await service.request('DELETE', `${path}/1`);
      assert.equal(deleted.status, 204);
      for (const method of ['GET', 'PUT', 'DELETE', 'GET']) {
        const parts = method === 'PUT' ? { json: replaced.json } : {};
        const again = await service.request(method, `${path}/1`, parts);
        assert.equal(again.status, 404, method);
      }
      const empty = await service.request('GET', path);
      assert.deepEqual(empty.json, { items: [], limit: 20, offset: 0, total: 0 });
    });

    await t.test(`records: ${name}: replace and delete touch one record`, async () => {
      const records = [await create('same'), await create('same'), await create('same')];
      const second = `${path}/${records[1].id}`;
      await service.request('PUT', second, { json: input('new') });
      const changed = { ...records[1], ...input('new') };
      assert.deepEqual(await allItems(service, path), [records[0], changed, records[2]]);
      await service.request('DELETE', second);
      assert.deepEqual(await allItems(service, path), [records[0], records[2]]);
    });

    await t.test(`records: ${name}: a bad body is 422 with every fault`, async () => {
      const { id } = await create('before');
      const before = await service.request('GET', path);
      const send = async (method: 'POST' | 'PUT', json: unknown) => {
        const target = method === 'PUT' ? `${path}/${id}` : path;
        const answer = await service.request(method, target, { json });
        assert.equal(answer.status, 422, `${method} ${JSON.stringify(json)}`);
        return answer;
      };
      const cases: readonly [value: unknown, code: string][] = [
        [undefined, 'required'],
        ['a\udc00b', 'format'],
        ['', 'minLength'],
        ...WRONG_TYPES.map((value): [unknown, string] => [value, 'type']),
        ...BLANKS.map((value): [unknown, string] => [value, 'pattern']),
      ];
      for (const [value, code] of cases) {
        const wrong = Object.fromEntries(fields.map((field) => [field, value]));
        for (const method of ['POST', 'PUT'] as const) {
          const { json } = await send(method, { ...samples, ...wrong });
          const faults = json.errors.map((each: Record<string, string>) => {
            return `${each.in} ${each.pointer} ${each.code}`;
          });
          assert.deepEqual(faults.sort(), fields.map((field) => `body #/${field} ${code}`).sort());
        }
      }
      for (const json of [null, [], 'text', 1, true]) {
        assert.equal((await send('POST', json)).json.errors[0].pointer, '#');
      }
      assert.deepEqual((await service.request('GET', path)).json, before.json);
    });

    for (const field of fields) {
      const maxLength = maxLengthOf(collection, field);

      await t.test(`records: ${name}: length of ${field} in code points`, async () => {
        const { id } = await create('before');
        const send = (method: string, text: string) =>
          service.request(method, method === 'PUT' ? `${path}/${id}` : path, {
            json: { ...input('x'), [field]: text },
          });
        for (const letter of ['a', '\u0000', '😀']) {
          for (const method of ['POST', 'PUT']) {
            for (const text of [letter, letter.repeat(maxLength)]) {
              const { status, json } = await send(method, text);
              assert.ok(status < 300 && json[field] === text, `${method} ${field}`);
            }
            const refused = await send(method, letter.repeat(maxLength + 1));
            assert.equal(refused.status, 422);
            const detail = `must have at most ${maxLength} characters`;
            assert.equal(refused.json.detail, `${field} ${detail}.`);
            assert.deepEqual(refused.json.errors, [
              { field, in: 'body', pointer: `#/${field}`, code: 'maxLength', detail },
            ]);
          }
        }
      });
    }

    await t.test(`records: ${name}: invisible text is not blank`, async () => {
      for (const text of NOT_BLANKS) {
        const created = await create(text);
        assert.deepEqual(created, { id: created.id, ...added, ...input(text) });
      }
    });
  });
}
