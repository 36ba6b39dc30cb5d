// Integers in paths and queries (interface, section 2): ASCII digits count, and nothing else does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Service, startService } from '../../support/service.ts';

const NO_INTEGERS = [
  ...['10.5', '1.0', '1e2', '%2B1', '+1', '%201', '1%20', '0x10', '0b1', '1_000', '1,000', '1n', '--1', '-', '1-'],
  ...['- 1'],
  ...['abc', 'NaN', 'Infinity', '-Infinity', 'null', 'true', '1%00', '%001', '1%0A', '1%0a2', '%C2%A01', '%EF%BB%BF1'],
  ...['%D9%A1', '%EF%BC%91', '%E0%A5%A7', '%F0%9D%9F%8F', '%C2%B2', '%E2%85%A0', '%E2%88%921', '1%2F1', '%22%31%22'],
].map((text) => text.replaceAll(' ', '%20'));

const LISTS = ['/notes', '/tags', '/notes/1/comments'];

async function startFilled(test: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(test);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  await service.request('POST', '/tags', { json: { name: 'a' } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'a' } });
  return service;
}

test('an id that is no integer is 422, wherever it stands', async (t) => {
  const service = await startFilled(t);
  for (const id of NO_INTEGERS) {
    for (const [path, field] of [
      [`/notes/${id}`, 'note_id'],
      [`/tags/${id}`, 'tag_id'],
      [`/notes/${id}/comments`, 'note_id'],
      [`/notes/${id}/comments/1`, 'note_id'],
      [`/notes/1/comments/${id}`, 'comment_id'],
    ]) {
      const { status, json } = await service.request('GET', `${path}`);
      assert.equal(status, 422, path);
      assert.deepEqual(json.errors, [{ field, in: 'path', code: 'type', detail: 'must be integer' }]);
    }
  }
  for (const [method, json] of [
    ['PUT', { title: 'a', body: 'b' }],
    ['DELETE', undefined],
  ] as const) {
    assert.equal((await service.request(method, '/notes/1e0', { json })).status, 422, method);
  }
  assert.equal((await service.request('POST', '/notes/1.0/comments', { json: { body: 'a' } })).status, 422);
});

test('an id that is an integer but names nothing is 404, and is told as it was sent', async (t) => {
  const service = await startFilled(t);
  const ids = [
    ...['0', '-0', '-1', '2', '007', '-9223372036854775809', '9007199254740991', '9007199254740993'],
    ...['9223372036854775807', '18446744073709551617', '9'.repeat(400), `-${'9'.repeat(400)}`, '0'.repeat(10_000)],
  ];
  const note = { title: 'a', body: 'b' };
  for (const id of ids) {
    for (const [method, path, label, json] of [
      ['GET', `/notes/${id}`, 'Note', undefined],
      ['PUT', `/notes/${id}`, 'Note', note],
      ['DELETE', `/notes/${id}`, 'Note', undefined],
      ['GET', `/tags/${id}`, 'Tag', undefined],
      ['GET', `/notes/1/comments/${id}`, 'Comment', undefined],
      ['DELETE', `/notes/1/comments/${id}`, 'Comment', undefined],
      ['GET', `/notes/${id}/comments`, 'Note', undefined],
      ['POST', `/notes/${id}/comments`, 'Note', note],
      ['GET', `/notes/${id}/comments/1`, 'Note', undefined],
    ] as const) {
      const answer = await service.request(method, path, { json });
      assert.equal(answer.status, 404, `${method} ${path}`);
      assert.equal(answer.json.detail, `${label} with ID ${id} was not found.`);
    }
  }
});

test('an id is the same however its digits are written: percent-encoded or with zeros in front', async (t) => {
  const service = await startFilled(t);
  for (const id of ['%31', '01', '0000001', '%30%31']) {
    const { status, json } = await service.request('GET', `/notes/${id}`);
    assert.deepEqual([status, json.id], [200, 1], id);
  }
});

test('a limit or an offset that is no integer is 422, on every list', async (t) => {
  const service = await startFilled(t);
  for (const list of LISTS) {
    for (const text of [...NO_INTEGERS, '', '-0', '-00', '%']) {
      for (const field of ['limit', 'offset']) {
        const { status, json } = await service.request('GET', `${list}?${field}=${text}`);
        assert.equal(status, 422, `${list}?${field}=${text}`);
        assert.deepEqual(json.errors, [{ field, in: 'query', code: 'type', detail: 'must be integer' }]);
      }
    }
    assert.equal((await service.request('GET', `${list}?limit`)).status, 422);
  }
});

test('a limit or an offset out of its range is 422, and never clamped', async (t) => {
  const service = await startFilled(t);
  for (const list of LISTS) {
    for (const [query, code, detail] of [
      ['limit=0', 'minimum', 'must be >= 1'],
      ['limit=-1', 'minimum', 'must be >= 1'],
      ['limit=-20', 'minimum', 'must be >= 1'],
      ['limit=101', 'maximum', 'must be <= 100'],
      ['limit=4294967297', 'maximum', 'must be <= 100'],
      ['limit=18446744073709551617', 'maximum', 'must be <= 100'],
      ['offset=-1', 'minimum', 'must be >= 0'],
      ['offset=9007199254740992', 'maximum', 'must be <= 9007199254740991'],
      ['offset=9007199254740993', 'maximum', 'must be <= 9007199254740991'],
    ] as const) {
      const { status, json } = await service.request('GET', `${list}?${query}`);
      assert.equal(status, 422, `${list}?${query}`);
      assert.deepEqual(json.errors, [{ field: query.split('=')[0], in: 'query', code, detail }]);
    }
    for (const field of ['limit', 'offset']) {
      assert.equal((await service.request('GET', `${list}?${field}=${'9'.repeat(400)}`)).status, 422);
    }
  }
});

test('a limit and an offset within their range are applied and told, with 20 and 0 where they are not given', async (t) => {
  const service = await startFilled(t);
  for (const list of LISTS) {
    for (const [query, limit, offset] of [
      ['', 20, 0],
      ['?', 20, 0],
      ['?limit=1', 1, 0],
      ['?limit=100', 100, 0],
      ['?limit=007', 7, 0],
      ['?limit=%31%30&offset=%30', 10, 0],
      ['?%6Cimit=5', 5, 0],
      ['?offset=1&limit=2', 2, 1],
      ['?offset=9007199254740991', 20, 9007199254740991],
    ] as const) {
      const { status, json } = await service.request('GET', `${list}${query}`);
      assert.deepEqual([status, json.limit, json.offset, json.total], [200, limit, offset, 1], `${list}${query}`);
      assert.equal(json.items.length, offset === 0 ? 1 : 0);
    }
  }
});

test('a parameter that is given twice is 422, the same value or not', async (t) => {
  const service = await startFilled(t);
  for (const list of LISTS) {
    for (const query of [
      'limit=5&limit=5',
      'limit=5&limit=6',
      'limit=5&x=1&%6cimit=5',
      'limit=&limit=',
      'limit&limit=1',
    ]) {
      const { status, json } = await service.request('GET', `${list}?${query}`);
      assert.equal(status, 422, `${list}?${query}`);
      assert.deepEqual(json.errors, [
        { field: 'limit', in: 'query', code: 'maxItems', detail: 'must be given only once' },
      ]);
    }
  }
});

test('parameters that are not known are ignored', async (t) => {
  const service = await startFilled(t);
  for (const query of ['page=x', 'Limit=0', 'limit[]=0', 'limits=0', '=0', '&&', 'x=%zz', 'x=1&x=2', '__proto__=0']) {
    for (const list of LISTS) {
      const { status, json } = await service.request('GET', `${list}?${query}`);
      assert.deepEqual([status, json?.limit], [200, 20], `${list}?${query}`);
    }
  }
  assert.equal((await service.request('GET', '/notes/1?limit=0')).status, 200);
  assert.equal((await service.request('POST', '/notes?limit=0', { json: { title: 'a', body: 'b' } })).status, 201);
});
