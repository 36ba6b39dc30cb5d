// The create/read/update/delete pattern, the same for notes, tags and comments: specification, sections 4.1 to 4.3.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, inputOf, prepare } from './collections.ts';
import { contract } from './contract.ts';
import { startService } from './harness.ts';

const WRONG_TYPES = [null, 1, 1.5, true, [], ['a'], {}];
const BLANKS = ['', ' ', '\t\n\r\v\f', '\u00a0', '\u2028\u2029', '\ufeff', '\u3000\u2003'];

function boundsOf(schema: string): { maxLength: number } {
  return (contract.components.schemas as Record<string, { maxLength: number }>)[schema] ?? { maxLength: 0 };
}

for (const collection of COLLECTIONS) {
  const { label, path, fields, added, schemas } = collection;

  test(`${label}: what is created can be read, replaced, listed and deleted`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const created = await service.request('POST', path, { json: inputOf(collection, 'one') });
    assert.equal(created.status, 201);
    assert.deepEqual(created.json, { id: 1, ...added, ...inputOf(collection, 'one') });
    assert.equal(created.headers.location, `${path}/1`);

    const read = await service.request('GET', `${path}/1`);
    assert.equal(read.status, 200);
    assert.deepEqual(read.json, created.json);

    const replaced = await service.request('PUT', `${path}/1`, { json: inputOf(collection, 'two') });
    assert.equal(replaced.status, 200);
    assert.deepEqual(replaced.json, { id: 1, ...added, ...inputOf(collection, 'two') });
    assert.deepEqual((await service.request('GET', `${path}/1`)).json, replaced.json);

    const list = await service.request('GET', path);
    assert.deepEqual(list.json, { items: [replaced.json], limit: 20, offset: 0, total: 1 });

    const deleted = await service.request('DELETE', `${path}/1`);
    assert.equal(deleted.status, 204);
    assert.equal((await service.request('GET', `${path}/1`)).status, 404);
    assert.deepEqual((await service.request('GET', path)).json, { items: [], limit: 20, offset: 0, total: 0 });
  });

  test(`${label}: a record that does not exist is 404, with its id as it was sent`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    for (const id of ['42', '0', '-1', '-0', '007', '9007199254740993', '9'.repeat(400)]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const json = method === 'PUT' ? { json: inputOf(collection, 'x') } : {};
        const answer = await service.request(method, `${path}/${id}`, json);
        assert.equal(answer.status, 404);
        assert.equal(answer.json.detail, `${label} with ID ${id} was not found.`);
        assert.equal(answer.json.title, 'Not Found');
        assert.equal(answer.json.type, `${service.url}/problems/not-found`);
      }
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

  for (const [field, schema] of Object.entries(schemas)) {
    const { maxLength } = boundsOf(schema);
    test(`${label}: ${field} takes 1 to ${maxLength} code points`, async (t) => {
      const service = await startService(t, { bodyLimitBytes: 4_194_304 });
      await prepare(service, collection);
      for (const [letter, width] of [
        ['a', 1],
        ['ü', 1],
        ['😀', 2],
      ] as const) {
        for (const length of [1, maxLength]) {
          const text = letter.repeat(length);
          assert.equal(text.length, length * width);
          const created = await service.request('POST', path, { json: { ...inputOf(collection, 'x'), [field]: text } });
          assert.equal(created.status, 201);
          assert.equal(created.json[field], text);
          const read = await service.request('GET', String(created.headers.location));
          assert.equal(read.json[field], text);
        }
        const json = { ...inputOf(collection, 'x'), [field]: letter.repeat(maxLength + 1) };
        const refused = await service.request('POST', path, { json });
        assert.equal(refused.status, 422);
        assert.deepEqual(
          refused.json.errors.map((error: { code: string }) => error.code),
          ['maxLength'],
        );
      }
      assert.equal((await service.request('GET', path)).json.total, 6);
    });
  }
}

test('tags may share a name', async (t) => {
  const service = await startService(t);
  const one = await service.request('POST', '/tags', { json: { name: 'same' } });
  const two = await service.request('POST', '/tags', { json: { name: 'same' } });
  assert.deepEqual(
    [one.json, two.json],
    [
      { id: 1, name: 'same' },
      { id: 2, name: 'same' },
    ],
  );
});
