// Notes and comments that are sent as texts, over HTTP.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { maxLengthOf } from '../support/collections.ts';
import type { RequestParts } from '../support/http.ts';
import { startService } from '../support/service.ts';

const TYPES = ['text/markdown', 'text/plain'];

const service = await startService({ after });
await service.request('POST', '/notes', { json: { title: 'first', body: 'first' } });
await service.request('POST', '/notes/1/comments', { json: { body: 'first' } });

const asText = (body: string | Buffer, type = 'text/plain', headers = {}): RequestParts => ({
  body,
  headers: { 'content-type': type, ...headers },
});
const violationsOf = (json: { errors: { field: string; in: string; code: string }[] }) =>
  json.errors.map((each) => {
    assert.ok(!('pointer' in each), JSON.stringify(each));
    return `${each.field} ${each.in} ${each.code}`;
  });

const noteOf = (text: string) => ({ title: text.split('\r')[0]?.slice(0, 500), body: text });

/** The operations that take texts, and what a text without a heading becomes. */
const OPERATIONS = [
  ['POST', '/notes', noteOf],
  ['PUT', '/notes/1', noteOf],
  ['POST', '/notes/1/comments', (body: string) => ({ body })],
  ['PUT', '/notes/1/comments/1', (body: string) => ({ body })],
] as const;

test('texts: every operation stores them, in any size and either type', async () => {
  const most = 'x'.repeat(maxLengthOf({ label: 'Comment' }, 'body'));
  for (const [method, path, membersOf] of OPERATIONS) {
    const texts = ['x', 'x\r\n\0\u2028𝒂 ', most];
    if (!path.includes('comments')) texts.push(most.repeat(9));
    for (const type of [...TYPES, 'Text/Plain; charset="UTF-8"'])
      for (const text of texts) {
        const { status, json, headers } = await service.request(method, path, asText(text, type));
        assert.equal(status, method === 'POST' ? 201 : 200);
        const record = (await service.request('GET', String(headers.location ?? path))).json;
        assert.deepEqual(record, json);
        assert.deepEqual({ ...json, ...membersOf(text) }, json, `${method} ${path} ${type}`);
      }
  }
});

test('texts: a first line with a title, and a byte order mark', async () => {
  const text = '\ufeff# Milk\r\n\r\n\ufeffOat\r\n';
  for (const type of TYPES) {
    const note = await service.request('POST', '/notes', asText(text, type));
    assert.deepEqual([note.json.title, note.json.body], ['Milk', '\ufeffOat\r\n']);
    const comment = await service.request('POST', '/notes/1/comments', asText(text, type));
    assert.equal(comment.json.body, text.slice(1));
  }
});

test('texts: the parameters title and tags are members of the note', async () => {
  const create = (query: string, method = 'POST', path = '/notes') =>
    service.request(method, `${path}?${query}`, asText('# Milk\n\nOat'));
  const { json } = await create('title=C%2B%2B+%26+%E6%9D%B1&tags=a,b&tags=%E6%9D%B1');
  assert.deepEqual([json.title, json.body], ['C++ & 東', '# Milk\n\nOat']);
  const path = `/notes/${json.id}`;
  const tags = async () => (await service.request('GET', `${path}?include=tags`)).json.tags;
  assert.deepEqual(await tags(), ['a', 'b', '東']);
  assert.equal((await create('title=x', 'PUT', path)).json.title, 'x');
  assert.deepEqual(await tags(), ['a', 'b', '東'], 'they stay');
  assert.equal((await create('tags=c', 'PUT', path)).json.title, 'Milk');
  assert.deepEqual(await tags(), ['c']);
  await create('tags=', 'PUT', path);
  assert.deepEqual(await tags(), []);
});

test('texts: a violation has no pointer, and each is reported once', async () => {
  const long = 'x'.repeat(501);
  const many = Array.from({ length: 101 }, (_, index) => index).join();
  for (const [method, path, body, violations] of [
    ['POST', '/notes', '', ['body body minLength']],
    ['PUT', '/notes/1', ' \r\n\ufeff', ['body body pattern']],
    ['POST', '/notes', '\ufeff', ['body body minLength']],
    ['POST', '/notes', `# ${long}\nx`, ['title body maxLength']],
    [
      'POST',
      '/notes',
      `# ${long}\n${'x'.repeat(100_001)}`,
      ['body body maxLength', 'title body maxLength'],
    ],
    ['POST', '/notes', `${'x'.repeat(100_001)}`, ['body body maxLength']],
    ['POST', '/notes', 'x'.repeat(1_048_576), ['body body maxLength']],
    ['POST', '/notes/1/comments', 'x'.repeat(10_001), ['body body maxLength']],
    ['PUT', '/notes/1/comments/1', ' ', ['body body pattern']],
    ['POST', `/notes?title=${long}`, 'x', ['title query maxLength']],
    ['PUT', '/notes/1?title=%20&tags=a,%20', 'x', ['tags query pattern', 'title query pattern']],
    ['POST', '/notes?title=a&title=b', 'x', ['title query maxItems']],
    ['POST', '/notes?tags=a,a', 'x', ['tags query uniqueItems']],
    ['POST', `/notes?tags=${many}`, 'x', ['tags query maxItems']],
    ['POST', '/notes?tag=a', 'x', ['tag query unknown']],
    ['POST', '/notes/1/comments?title=a', 'x', ['title query unknown']],
  ] as const) {
    const { status, json } = await service.request(method, path, asText(body));
    assert.equal(status, 422, path);
    assert.deepEqual(violationsOf(json).sort(), violations, `${path} ${body.slice(0, 9)}`);
  }
});

test('texts: a rule for each tag is named once', async () => {
  for (const [tags, detail] of [
    [',', 'tags must not be empty; tags must not contain an item twice.'],
    ['%20,a', 'tags must not be blank.'],
    [`${'a'.repeat(201)},${'b'.repeat(201)}`, 'tags must have at most 200 characters.'],
  ]) {
    const { status, json } = await service.request('POST', `/notes?tags=${tags}`, asText('x'));
    assert.deepEqual([status, json.detail], [422, detail]);
  }
});

test('texts: title and tags are 422 beside JSON, of one record and of lines', async () => {
  const note = '{"title":"a","body":"b"}';
  for (const [method, path, type] of [
    ['POST', '/notes?title=a&tags=b', 'application/json'],
    ['PUT', '/notes/1?title=a&tags=b', 'application/json'],
    ['POST', '/notes?title=a&tags=b', 'application/x-ndjson'],
  ] as const) {
    const { status, json } = await service.request(method, path, asText(note, type));
    assert.equal(status, 422);
    assert.deepEqual(violationsOf(json), ['title query unknown', 'tags query unknown']);
    assert.match(
      json.detail,
      /^title belongs to a text; in JSON, send it as a member of the body;/,
    );
  }
});

test('texts: another charset is 415, and bytes that are not UTF-8 are 400', async () => {
  for (const [method, path] of OPERATIONS) {
    for (const type of ['text/plain; charset=iso-8859-1', 'text/markdown;charset=', 'text/html']) {
      const { status, json, headers } = await service.request(method, path, asText('x', type));
      assert.equal(status, 415, type);
      const start = 'The body must be JSON or a text, in UTF-8: send ';
      assert.equal(json.detail.slice(0, start.length), start);
      assert.match(String(headers.accept), /text\/markdown, text\/plain$/);
    }
    const bad = Buffer.concat([Buffer.from('Milk\nOat '), Buffer.from([0xe4, 0x6d])]);
    const { status, json } = await service.request(method, path, asText(bad));
    const detail = 'The body is not valid UTF-8 at line 2, column 5.';
    assert.deepEqual([status, json.detail], [400, detail]);
  }
});

test('texts: a form, and what is no JSON and has no type, are told how to send them', async () => {
  const form = asText('Milk', 'application/x-www-form-urlencoded');
  for (const [method, path] of OPERATIONS)
    for (const [parts, status] of [
      [form, 415],
      [{ body: 'Milk' }, 400],
      [{ body: 'Milk '.repeat(20_000) }, 400],
    ] as const) {
      const { status: actual, json } = await service.request(method, path, parts);
      assert.equal(actual, status);
      assert.match(json.detail, /-H 'content-type: text\/plain' --data-binary /);
      if (status === 415) assert.match(json.detail, /--json/);
    }
  for (const [method, path, parts] of [
    ['POST', '/notes', asText('Milk', 'application/json')],
    ['POST', '/tags', { body: 'Milk' }],
    ['POST', '/tags', form],
    ['PATCH', '/notes/1', { body: 'Milk' }],
    ['PATCH', '/notes/1', form],
    // Other operations do not take texts.
    ...TYPES.flatMap((type) => [
      ['POST', '/tags', asText('x', type)] as const,
      ['PATCH', '/notes/1', asText('x', type)] as const,
      ['PATCH', '/notes/1/comments/1', asText('x', type)] as const,
    ]),
  ] as const) {
    const { status, json } = await service.request(method, path, parts);
    assert.ok(status === 400 || status === 415);
    assert.doesNotMatch(json.detail, /text\//);
  }
});

test('texts: a key is for the text, its type, and both parameters', async () => {
  const send = (body: string, type: string, query = '', path = '/notes') =>
    service.request('POST', `${path}${query}`, asText(body, type, { 'idempotency-key': 'once' }));
  const first = await send('Milk', 'text/plain', '?title=a+b&tags=x,y');
  const again = await send('Milk', 'text/plain; charset=utf-8', '?title=a+b&tags=x,y');
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual([again.status, again.json], [201, first.json]);
  for (const [body, type, query] of [
    ['Milk ', 'text/plain', '?title=a+b&tags=x,y'],
    ['Milk', 'text/markdown', '?title=a+b&tags=x,y'],
    ['Milk', 'text/plain', '?title=c&tags=x,y'],
    ['Milk', 'text/plain', '?title=a+b&tags=y,x'],
    ['Milk', 'text/plain', '?title=a+b'],
    ['Milk', 'text/plain', ''],
    ['?title=a+b&tags=x,y\nMilk', 'text/plain', ''],
    ['{"title":"a b","body":"Milk"}', 'application/json', ''],
  ] as const) {
    const { status, json } = await send(body, type, query);
    assert.deepEqual([status, json.type.split('/').at(-1)], [422, 'idempotency-key-reused'], query);
    assert.equal(json.detail, 'This idempotency key was used before, for a different request.');
  }
  const comment = await send('Milk', 'text/plain', '', '/notes/1/comments');
  assert.equal(comment.headers['idempotent-replayed'], undefined);
});

test('texts: a form of another site cannot send one', async () => {
  for (const headers of [{ origin: 'https://app.example' }, { origin: 'null' }]) {
    const { status } = await service.request('POST', '/notes', asText('x', 'text/plain', headers));
    assert.equal(status, 403);
  }
});
