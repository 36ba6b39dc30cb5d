// The create/read/update/delete pattern, the same for notes, tags and comments: specification, sections 4.1 to 4.3.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems, COLLECTIONS, inputOf, maxLengthOf, prepare } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';

const WRONG_TYPES = [null, 1, 1.5, true, [], ['a'], {}];
const BLANKS = [
  '',
  ' ',
  '\t\n\r\v\f',
  '\u00a0',
  '\u1680',
  '\u2000\u2003\u200a',
  '\u2028\u2029',
  '\u202f\u205f',
  '\u3000',
  '\ufeff',
];
/** What shows nothing, or nearly so, but is no white space. */
const NOT_BLANKS = ['\u0000', '\u200b', '\u00ad', '\u2800', '\u0301', ' . '];

for (const collection of COLLECTIONS) {
  const { label, path, fields, added } = collection;

  test(`${label}: what is created can be read, replaced, listed and deleted`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const created = await service.request('POST', path, { json: inputOf(collection, 'one') });
    assert.equal(created.status, 201);
    assert.deepEqual(created.json, { id: 1, ...added, ...inputOf(collection, 'one') });
    assert.equal(created.headers.location, `${path}/1`);

    const read = await service.request('GET', String(created.headers.location));
    assert.equal(read.status, 200);
    assert.deepEqual(read.json, created.json);

    const replaced = await service.request('PUT', `${path}/1`, { json: inputOf(collection, 'two') });
    assert.equal(replaced.status, 200);
    assert.deepEqual(replaced.json, { id: 1, ...added, ...inputOf(collection, 'two') });
    assert.deepEqual((await service.request('GET', `${path}/1`)).json, replaced.json);

    const whole = replaced.json;
    const list = await service.request('GET', path);
    assert.deepEqual(list.json, { items: [whole], limit: 20, offset: 0, total: 1 });

    const deleted = await service.request('DELETE', `${path}/1`);
    assert.equal(deleted.status, 204);
    for (const method of ['GET', 'PUT', 'DELETE', 'GET']) {
      const again = await service.request(method, `${path}/1`, method === 'PUT' ? { json: whole } : {});
      assert.equal(again.status, 404, method);
    }
    assert.deepEqual((await service.request('GET', path)).json, { items: [], limit: 20, offset: 0, total: 0 });
  });

  test(`${label}: a record that does not exist is 404, with its id as it was sent`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    for (const id of ['42', '0', '-1', '-0', '007', '9007199254740993', '9'.repeat(400)]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const json = method === 'PUT' ? { json: inputOf(collection, 'x') } : {};
        const answer = await service.request(method, `${path}/${id}`, json);
        assert.equal(answer.headers['content-type'], 'application/problem+json');
        assert.deepEqual(answer.json, {
          type: `${service.url}/problems/not-found`,
          title: 'Not Found',
          status: 404,
          detail: `${label} with ID ${id} was not found.`,
        });
      }
    }
  });

  test(`${label}: a record is replaced or deleted alone`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const records: object[] = [];
    for (const text of ['one', 'two', 'three']) {
      records.push((await service.request('POST', path, { json: inputOf(collection, text) })).json);
    }
    records[1] = (await service.request('PUT', `${path}/2`, { json: inputOf(collection, 'new') })).json;
    assert.deepEqual(await allItems(service, path), records);
    await service.request('DELETE', `${path}/2`);
    assert.deepEqual(await allItems(service, path), [records[0], records[2]]);
  });

  test(`${label}: what is wrong with the body is told before that the record is missing`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    assert.equal((await service.request('PUT', `${path}/42`, { json: inputOf(collection, ' ') })).status, 422);
    assert.equal((await service.request('PUT', `${path}/42`, { json: inputOf(collection, 'x') })).status, 404);
  });

  test(`${label}: two records may be the same but for their ids`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const input = inputOf(collection, 'same');
    for (const id of [1, 2]) {
      const { json } = await service.request('POST', path, { json: input });
      assert.deepEqual(json, { id, ...added, ...input });
    }
  });

  test(`${label}: a whole record can be got, edited and put back; unknown members are ignored`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const text = '{"__proto__":{"x":1},"constructor":2,"id":77,"note_id":88,"extra":[4.0,{}],';
    const body = `${text}${JSON.stringify(inputOf(collection, 'kept')).slice(1)}`;
    const created = await service.request('POST', path, { body, headers: { 'content-type': 'application/json' } });
    assert.deepEqual(created.json, { id: 1, ...added, ...inputOf(collection, 'kept') });
    const whole = { ...created.json, ...inputOf(collection, 'edited') };
    const replaced = await service.request('PUT', `${path}/1`, { json: whole });
    assert.deepEqual(replaced.json, whole);
  });

  test(`${label}: bad bodies are 422, name every fault, and change nothing`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    await service.request('POST', path, { json: inputOf(collection, 'before') });
    for (const field of fields) {
      const pointer = `#/${field}`;
      const cases: [unknown, string[]][] = [
        ...WRONG_TYPES.map((value): [unknown, string[]] => [value, ['type']]),
        ...BLANKS.map((value): [unknown, string[]] => [value, value === '' ? ['minLength', 'pattern'] : ['pattern']]),
        ['\ud800', ['format']],
        ['a\udc00b', ['format']],
        [undefined, ['required']],
      ];
      for (const [value, codes] of cases) {
        for (const [method, target] of [['POST', path] as const, ['PUT', `${path}/1`] as const]) {
          const answer = await service.request(method, target, {
            json: { ...inputOf(collection, 'x'), [field]: value },
          });
          assert.equal(answer.status, 422, `${field}: ${JSON.stringify(value)}`);
          const errors = answer.json.errors as { field: string; in: string; pointer: string; code: string }[];
          assert.deepEqual(
            errors.map((error) => error.code),
            codes,
          );
          for (const error of errors)
            assert.deepEqual([error.field, error.in, error.pointer], [field, 'body', pointer]);
        }
      }
    }
    for (const json of [null, [], 'text', 1, true]) {
      const answer = await service.request('POST', path, { json });
      assert.equal(answer.status, 422);
      assert.equal(answer.json.errors[0].pointer, '#');
    }
    const none = await service.request('POST', path, { json: {} });
    assert.equal(none.json.errors.length, fields.length);
    const list = await service.request('GET', path);
    assert.deepEqual(list.json.items, [{ id: 1, ...added, ...inputOf(collection, 'before') }]);
  });

  for (const field of fields) {
    const maxLength = maxLengthOf(collection, field);
    test(`${label}: ${field} takes 1 to ${maxLength} code points`, async (t) => {
      const service = await startService(t);
      await prepare(service, collection);
      await service.request('POST', path, { json: inputOf(collection, 'before') });
      const tooLong = {
        field,
        in: 'body',
        pointer: `#/${field}`,
        code: 'maxLength',
        detail: `must NOT have more than ${maxLength} characters`,
      };
      for (const letter of ['a', 'ü', '\u0301', '\u0000', '😀']) {
        for (const [method, target, status] of [
          ['POST', path, 201],
          ['PUT', `${path}/1`, 200],
        ] as const) {
          const send = (length: number) =>
            service.request(method, target, { json: { ...inputOf(collection, 'x'), [field]: letter.repeat(length) } });
          for (const length of [1, maxLength]) {
            const answer = await send(length);
            assert.deepEqual([answer.status, answer.json[field]], [status, letter.repeat(length)]);
            const read = await service.request('GET', String(answer.headers.location ?? target));
            assert.equal(read.text.length, answer.text.length);
            assert.deepEqual(read.json, answer.json);
          }
          const refused = await send(maxLength + 1);
          assert.equal(refused.status, 422);
          assert.equal(refused.json.detail, `${field} ${tooLong.detail}.`);
          assert.deepEqual(refused.json.errors, [tooLong]);
        }
      }
      assert.equal((await service.request('GET', path)).json.total, 1 + 5 * 2);
    });

    test(`${label}: ${field} takes what is no white space, visible or not`, async (t) => {
      const service = await startService(t);
      await prepare(service, collection);
      for (const text of NOT_BLANKS) {
        const json = { ...inputOf(collection, 'x'), [field]: text };
        const created = await service.request('POST', path, { json });
        assert.deepEqual([created.status, created.json[field]], [201, text], JSON.stringify(text));
      }
    });
  }
}

test('the type of a problem leads to a page about it', async (t) => {
  const service = await startService(t);
  for (const [path, status, slug] of [
    ['/notes/1', 404, 'not-found'],
    ['/tags/x', 422, 'validation-failed'],
  ] as const) {
    const { json } = await service.request('GET', path);
    assert.deepEqual([json.status, json.type], [status, `${service.url}/problems/${slug}`]);
    const page = await service.request('GET', new URL(json.type).pathname);
    assert.equal(page.status, 200);
    assert.match(page.text, new RegExp(`<title>${status} ${json.title} `));
  }
});
