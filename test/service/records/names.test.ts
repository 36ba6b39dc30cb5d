// Names of parameters and of members of bodies: a typo must not return wrong data or be stored.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { operations } from '../../../src/contract/generated.js';
import { COLLECTIONS, inputOf, prepare } from '../../support/collections.ts';
import { at } from '../../support/contract.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';

const LINES = { 'content-type': 'application/x-ndjson' };
const NOTE = { title: 'a', body: 'b' };

const service = await startService({ after });
await service.request('POST', '/notes', { json: NOTE });

const rule = { code: 'unknown', detail: 'is not known' };
const inQuery = (field: string) => ({ field, in: 'query', ...rule });
const inBody = (field: string, pointer: string) => ({ field, in: 'body', pointer, ...rule });
const unknownOf = (errors: readonly Record<string, string>[] = []) =>
  errors.filter(({ code }) => code === 'unknown');
const pathOf = (template: string, id = '1') => template.replace(/\{\w+\}/g, id);

const checking = operations.filter(({ queryNames }) => queryNames);
const open = operations.filter((each) => !checking.includes(each));

test('names: every operation with JSON answers refuses unknown ones', async () => {
  for (const { method, template, body } of checking) {
    const path = `${pathOf(template)}?zzz=1&zzz`;
    // A body without members in the contract may have any.
    const unknown = body?.members.length ? [inBody('zzz', '#/zzz')] : [];
    const single = [{ json: { zzz: 1 } }, ...unknown] as const;
    const lines = [{ body: '{}\n{"zzz":1}', headers: LINES }, inBody('1.zzz', '#/1/zzz')] as const;
    const sent = body ? [single, ...(body.lines ? [lines] : [])] : [[{}] as const];
    for (const [parts, ...others] of sent) {
      const { status, json } = await service.request(method, path, parts);
      const expected = [inQuery('zzz'), ...others];
      assert.deepEqual([status, unknownOf(json.errors)], [422, expected], `${method} ${path}`);
    }
    if (method === 'GET') assert.equal((await service.request('HEAD', path)).status, 422);
  }
});

test('names: health, the description and answers without JSON ignore parameters', async () => {
  assert.deepEqual(open.map(({ id }) => id).sort(), [
    ...['getDocs', 'getDocsAsset', 'getGuide', 'getHealth', 'getLivez', 'getMetrics', 'getOpenapi'],
    ...['getReadyz', 'getRoot', 'listGuides'],
  ]);
  for (const { method, template } of open) {
    const plain = await service.request(method, pathOf(template));
    const { status } = await service.request(method, `${pathOf(template)}?zzz=1`);
    assert.equal(status, plain.status);
  }
});

for (const collection of COLLECTIONS) {
  const { label, path } = collection;
  test(`names: a ${label.toLowerCase()} with all that answers add can be sent back`, async (t) => {
    const own = await startService(t);
    await prepare(own, collection);
    await own.request('POST', path, { json: inputOf(collection, 'word') });
    const [list, search] = label === 'Note' ? ['NoteList', '&q=word'] : [label, ''];
    const included = at(`/components/parameters/${list}Include/schema/items/enum`);
    const [item] = (await own.request('GET', `${path}?include=${included}${search}`)).json.items;
    const { json: before } = await own.request('GET', `${path}/1`);
    const { members = [], ignored = [] } =
      checking.find((each) => each.method === 'POST' && pathOf(each.template, '3') === path)
        ?.body ?? {};
    // Lists do not count characters.
    const others = ignored.filter((name) => name !== 'characters');
    assert.deepEqual(Object.keys(item).sort(), [...members, ...others].sort());
    // Tags are set by id or by name.
    delete item.tag_ids;
    const odd = Object.fromEntries(ignored.map((name) => [name, [{ x: 1 }]]));
    for (const json of [item, { ...item, ...odd }])
      for (const method of ['PUT', 'PATCH', 'POST']) {
        const target = method === 'POST' ? path : `${path}/1`;
        const answer = await own.request(method, target, { json });
        assert.ok(answer.status < 300, answer.text);
        assert.deepEqual({ ...answer.json, id: 1 }, before);
      }
    const headers = { ...LINES, 'if-match': '"a"', 'if-none-match': '*' };
    const body = JSON.stringify({ ...item, ...odd });
    const { json } = await own.request('POST', path, { body, headers });
    assert.deepEqual([{ ...json[0], id: 1 }], [before]);
  });
}

const LONG = 'x'.repeat(64);

const NAMES: readonly (readonly [name: string, field: string, pointer: string])[] = [
  ['', '', '#/'],
  ['a/b~é', 'a/b~é', '#/a~1b~0%C3%A9'],
  ['"#%\0 ', '"#%\0 ', '#/%22%23%25%00%20'],
  ['__proto__', '__proto__', '#/__proto__'],
  ['hasOwnProperty', 'hasOwnProperty', '#/hasOwnProperty'],
  [LONG, LONG, `#/${LONG}`],
  [`${LONG}x`, `${LONG}…`, '#'],
  [`${LONG.slice(1)}😀`, `${LONG.slice(1)}\ufffd…`, '#'],
  ['x'.repeat(1_000_000), `${LONG}…`, '#'],
  ['\udfff', '\ufffd', '#/%EF%BF%BD'],
];

test('names: any name is reported, cut and with an escaped pointer', async () => {
  for (const [name, field, pointer] of NAMES) {
    const body = `{${JSON.stringify(name)}:{"title":"c"},"title":"a","body":"b"}`;
    const single = await service.request('POST', '/notes', { body });
    assert.deepEqual(single.json.errors, [inBody(field, pointer)]);
    assert.equal(single.json.detail, `${field || '""'} is not known.`);
    const many = await service.request('POST', '/notes', { body, headers: LINES });
    assert.deepEqual(many.json.errors, [inBody(`0.${field}`, pointer.replace('#', '#/0'))]);
    if (name.length > 1_000) continue;
    const query = `${encodeURIComponent(name.toWellFormed())}=1`;
    const { json } = await service.request('GET', `/notes?${query}`);
    assert.deepEqual(json.errors, [inQuery(field)], query);
  }
});

test('names: a close one is suggested', async () => {
  for (const [path, meant, json] of [
    ['GET /notes?limt=5', 'limit'],
    ['GET /notes?LIMIT=0', 'limit'],
    ['GET /notes?tag_ids=1', 'tag_id'],
    ['GET /notes?tags=1', 'tag'],
    // What axios, PHP and Ruby make of a list.
    ['GET /notes?tag[]=a&tag[]=b', 'tag'],
    ['GET /notes?tag%5B0%5D=a', 'tag'],
    ['GET /tags/1/notes?tag_id[]=1', 'tag_id'],
    ['GET /notes?include[]=times', 'include'],
    ['GET /notes?[]=a', undefined],
    ['GET /notes?page[size]=9', undefined],
    ['GET /notes?page=2', undefined],
    ['GET /notes/1?limit=1', 'body_limit'],
    ['GET /changes?sinse=x', 'since'],
    ['PATCH /notes/1', 'title', { tittle: 'x' }],
    ['PATCH /notes/1', undefined, { title: 'x', text: 'x' }],
    ['POST /notes', 'tags', { ...NOTE, 'tags[]': 'x' }],
    ['PATCH /notes/1', undefined, { id: 1, note_id: 1 }],
    ['PATCH /notes/1', undefined, { a: 1 }],
    ['PATCH /notes/1', undefined, { c: 1 }],
    ['POST /notes', undefined, { ...NOTE, at: 1 }],
    ['POST /notes?titel=a', 'title', NOTE],
    ['POST /pool/run', 'max_workers', { items: ['a'], max_worker: 2 }],
  ] as const) {
    const [method = '', target = ''] = path.split(' ');
    const { errors } = (await service.request(method, target, { json })).json;
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    assert.deepEqual([errors[0].detail, errors.length], [`is not known${hint}`, 1], path);
  }
  const headers = { 'content-type': 'text/plain' };
  const text = await service.request('POST', '/notes?tag=a', { body: 'a', headers });
  assert.equal(text.json.detail, 'tag is not known; did you mean tags?');
  const { json } = await service.request('GET', '/notes?limt=5&ofset=5&x');
  const detail = 'limt is not known; did you mean limit? ofset is not known; did you mean offset?';
  assert.equal(json.detail, `${detail} x is not known.`);
  assert.deepEqual((await service.request('GET', '/notes/1')).json, expected({ id: 1, ...NOTE }));
});

test('names: ten at most, of the query and of all lines together', async () => {
  const query = Array.from({ length: 4 }, (_, index) => `z${index}`).join('&');
  const body = '{"y":1,"x":1}\n'.repeat(10);
  const { json } = await service.request('POST', `/notes?${query}`, { body, headers: LINES });
  const fields = unknownOf(json.errors).map(({ field }) => field);
  assert.equal(fields.join(' '), 'z0 z1 z2 z3 0.y 0.x 1.y 1.x 2.y 2.x');
});

test('names: other faults of a request come first, missing records after', async () => {
  for (const [request, status, parts] of [
    ['GET /nowhere?zzz', 404, {}],
    ['PATCH /notes?zzz', 405, { json: { zzz: 1 } }],
    ['POST /notes?zzz', 415, { body: '{"zzz":1}', headers: { 'content-type': 'text/xml' } }],
    ['POST /notes?zzz', 413, { json: { zzz: 'x'.repeat(20_000_000) } }],
    ['POST /notes?zzz', 400, { body: '{"zzz":' }],
    ['GET /notes?zzz=%ff', 400, {}],
    ['GET /notes/1?zzz', 400, { headers: { 'if-match': 'a' } }],
    ['GET /notes/1?zzz', 422, { headers: { 'if-match': '"a"' } }],
    ['GET /notes/999?zzz', 422, {}],
    ['PUT /notes/999', 422, { json: { ...NOTE, zzz: 1 } }],
  ] as const) {
    const [method = '', path = ''] = request.split(' ');
    assert.equal((await service.request(method, path, parts)).status, status, request);
  }
});

test('names: a malformed value never shows a regular expression', async () => {
  for (const { method, template, queryNames = [] } of checking)
    for (const name of method === 'GET' ? queryNames : []) {
      const { json } = await service.request('GET', `${pathOf(template)}?${name}=%20`);
      for (const { detail } of json.errors ?? []) assert.doesNotMatch(detail, /[\^\\]/);
    }
  const { json } = await service.request('GET', '/changes?since=x');
  assert.equal(json.detail, 'since must be a cursor from "next" or a time as in RFC 3339.');
});
