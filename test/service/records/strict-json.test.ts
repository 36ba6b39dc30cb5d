// What the service reads as JSON, what it does not, and that text comes back as it was sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSON_TEXTS, nested } from '../../support/json-texts.ts';
import { startService } from '../../support/service.ts';

test('what is not JSON is 400 and does not come back, and what is JSON and no note is 422', async (t) => {
  const service = await startService(t);
  let count = 0;
  async function assertAnswer(body: string | Buffer, status: 400 | 422): Promise<void> {
    const answer = await service.request('POST', '/notes', { body });
    assert.equal(answer.status, status, JSON.stringify(String(body).slice(0, 100)));
    if (status === 400) assert.match(answer.json.detail, /^The body is (?:not valid|empty|nested too deep)[\w ;-]*\.$/);
    // A body that cannot be read is no reason to end the connection.
    assert.notEqual(answer.headers.connection, 'close');
    count += 1;
  }
  for (const { accepted, refused, decided = [] } of Object.values(JSON_TEXTS)) {
    for (const text of refused) await assertAnswer(text, 400);
    for (const text of accepted) await assertAnswer(text, 422);
    for (const [text, decision] of decided) await assertAnswer(text, decision === 'refused' ? 400 : 422);
  }
  t.diagnostic(`${count} texts`);
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('any JSON may stand in a member that is not known, if it is not nested too deep with it', async (t) => {
  const service = await startService(t);
  let created = 0;
  for (const { accepted, decided = [] } of Object.values(JSON_TEXTS)) {
    for (const text of [
      ...accepted,
      ...decided.flatMap(([each, decision]) => (decision === 'refused' ? [] : [each])),
    ]) {
      const body = Buffer.concat([Buffer.from('{"title":"a","x":'), Buffer.from(text), Buffer.from(',"body":"b"}')]);
      const deep = String(text).includes(nested(1_000)) || String(text).includes('{"a":'.repeat(1_000));
      const { status } = await service.request('POST', '/notes', { body });
      assert.equal(status, deep ? 400 : 201, String(text).slice(0, 100));
      if (status === 201) created += 1;
    }
  }
  t.diagnostic(`${created} texts`);
  assert.equal((await service.request('GET', '/notes')).json.total, created);
});

test('a request without a body is 400 where one is asked for', async (t) => {
  const service = await startService(t);
  assert.equal((await service.request('POST', '/notes')).status, 400);
  assert.equal((await service.request('PUT', '/notes/1', { headers: { 'content-length': '0' } })).status, 400);
});

test('JSON that is nested beyond reason is 400', async (t) => {
  const service = await startService(t);
  for (const levels of [1_001, 100_000, 400_000]) {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const { status, json } = await service.request('POST', '/notes', { body: `{"title":"a","body":"b","x":${deep}}` });
    assert.equal(status, 400);
    assert.match(json.detail, /nested too deep/);
  }
  const { status } = await service.request('POST', '/notes', {
    body: `{"title":"a","body":"b","x":${'['.repeat(900)}${']'.repeat(900)}}`,
  });
  assert.equal(status, 201);
});

test('JSON that is no object is 422', async (t) => {
  const service = await startService(t);
  for (const body of ['[]', '[{"title":"a","body":"b"}]', 'null', 'true', '0', '4.0', '"title"', ' "" ']) {
    const { status, json } = await service.request('POST', '/notes', { body });
    assert.equal(status, 422, body);
    assert.deepEqual(json.errors, [{ field: '', in: 'body', pointer: '#', code: 'type', detail: 'must be object' }]);
  }
});

test('nothing is converted: what is no string is 422 where a string belongs', async (t) => {
  const service = await startService(t);
  for (const value of ['4', '4.0', '0', 'true', 'false', 'null', '[]', '["a"]', '{}', '{"a":"b"}']) {
    const { status, json } = await service.request('POST', '/notes', { body: `{"title":${value},"body":"b"}` });
    assert.equal(status, 422, value);
    assert.deepEqual([json.errors.length, json.errors[0].code], [1, 'type']);
  }
});

test('a float, a numeric string and their like are 422 where an integer belongs', async (t) => {
  const service = await startService(t);
  const values = [
    '4.0',
    '4.00',
    '4e0',
    '4E+0',
    '40e-1',
    '0.4e1',
    '16.9',
    '1e400',
    '"4"',
    '"4.0"',
    'true',
    'null',
    '[4]',
    '{}',
  ];
  const members = [
    ['/counter/increment', (value: string) => `{"workers":${value},"count":4}`, '#/workers'],
    ['/counter/increment', (value: string) => `{"workers":4,"count":${value}}`, '#/count'],
    ['/semaphore/run', (value: string) => `{"task_ids":[1],"concurrency_limit":${value}}`, '#/concurrency_limit'],
    ['/semaphore/run', (value: string) => `{"task_ids":[1,${value}],"concurrency_limit":4}`, '#/task_ids/1'],
    ['/pool/run', (value: string) => `{"items":["a"],"max_workers":${value}}`, '#/max_workers'],
    ['/producer-consumer/run', (value: string) => `{"items":["a"],"num_consumers":${value}}`, '#/num_consumers'],
    ['/producer-consumer/run', (value: string) => `{"items":["a"],"queue_size":${value}}`, '#/queue_size'],
  ] as const;
  for (const [path, bodyWith, pointer] of members) {
    for (const value of values) {
      const { status, json } = await service.request('POST', path, { body: bodyWith(value) });
      assert.equal(status, 422, `${path} ${bodyWith(value)}`);
      assert.deepEqual([json.errors[0].pointer, json.errors[0].code], [pointer, 'type']);
    }
    assert.notEqual((await service.request('POST', path, { body: bodyWith('4') })).status, 422, path);
  }
});

test('a string that looks like a float is a string', async (t) => {
  const service = await startService(t);
  const { json } = await service.request('POST', '/notes', { body: '{"title":"4.0","body":"[1e5, 4.0, \\"4.0\\"]"}' });
  assert.deepEqual([json.title, json.body], ['4.0', '[1e5, 4.0, "4.0"]']);
});

test('of several members with one name the last counts', async (t) => {
  const service = await startService(t);
  const post = (body: string) => service.request('POST', '/notes', { body });
  const { json } = await post('{"title":1,"body":"a","title":"b","body":"c"}');
  assert.deepEqual([json.title, json.body], ['b', 'c']);
  assert.equal((await post('{"title":"a","body":"b","title":1}')).status, 422);
});

test('members that are not known are ignored, whatever they are', async (t) => {
  const service = await startService(t);
  const { status, json } = await service.request('POST', '/notes', {
    body: '{"id":77,"title":"a","extra":{"deep":[1.5]},"note_id":"x","body":"b","":4.0,"title ":1}',
  });
  assert.deepEqual([status, json], [201, { id: 1, title: 'a', body: 'b' }]);
});

test('a record can be read, edited and put back as a whole', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  await service.request('POST', '/notes/1/comments', { json: { body: 'c' } });
  for (const path of ['/notes/1', '/notes/1/comments/1']) {
    const read = await service.request('GET', path);
    const put = await service.request('PUT', path, { json: { ...read.json, body: 'edited' } });
    assert.deepEqual([put.status, put.json], [200, { ...read.json, body: 'edited' }]);
    assert.equal((await service.request('GET', path)).text, put.text);
  }
});

test('__proto__ and constructor are ordinary names and change nothing', async (t) => {
  const service = await startService(t);
  const inherited = await service.request('POST', '/notes', { body: '{"__proto__":{"title":"a","body":"b"}}' });
  assert.equal(inherited.status, 422);
  const { status, json } = await service.request('POST', '/notes', {
    body: '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"title":"a","body":"b"}',
  });
  assert.deepEqual([status, json], [201, { id: 1, title: 'a', body: 'b' }]);
  assert.equal('polluted' in {}, false);
});

test('text comes back to the code point', async (t) => {
  const service = await startService(t);
  const texts = [
    ...[' a ', '\ta\n', '\u0000a\u0000', 'a\u0000', '"\\/', '\u{1f44b}\u{10ffff}', 'e\u0301', '\u00e9', '\ufb01'],
    ...['\u212b'],
    ...['\ufeffa', 'a\u2028b\u2029', '\u007f\u0085', '\ufffd\ufffe\uffff', '\u202eabc', "'; DROP TABLE notes; --"],
    ...["x'6162'", '%s%n', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', 'null', '{}', '\u0001\u001f'],
  ];
  for (const text of texts) {
    const created = await service.request('POST', '/notes', { json: { title: text, body: text } });
    assert.equal(created.status, 201, JSON.stringify(text));
    const read = await service.request('GET', `/notes/${created.json.id}`);
    assert.deepEqual([created.json.title, read.json.title, read.json.body], [text, text, text]);
  }
  const escaped = await service.request('POST', '/notes', {
    body: '{"title":"\\ud83d\\udc4b\\u0000","body":"\\u0041"}',
  });
  assert.deepEqual([escaped.json.title, escaped.json.body], ['\u{1f44b}\0', 'A']);
});

test('a lone surrogate is 422', async (t) => {
  const service = await startService(t);
  for (const text of ['\\ud800', 'a\\udc00', '\\udc4b\\ud83d', '\\ud83d\\u0041', '\\ud83d\\ud83d\\udc4b']) {
    for (const body of [`{"title":"${text}","body":"b"}`, `{"title":"a","body":"${text}"}`]) {
      const { status, json } = await service.request('POST', '/notes', { body });
      assert.equal(status, 422, body);
      assert.deepEqual(
        json.errors.map(({ code }: { code: string }) => code),
        ['format'],
      );
    }
  }
});
