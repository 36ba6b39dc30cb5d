// The member `errors` of a 422 (interface, section 4): one entry for each violated rule, exactly so.
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { startService } from '../../support/service.ts';

const SHOWN = 20;

const inBody = (pointer: string, code: string, detail: string) => ({
  field: pointer.slice(2).replaceAll('/', '.'),
  in: 'body',
  pointer,
  code,
  detail,
});

const missing = (name: string) => inBody(`#/${name}`, 'required', `must have required property '${name}'`);
const integer = (pointer: string) => inBody(pointer, 'type', 'must be integer');

test('each violated rule of a body has its entry', async (t) => {
  const service = await startService(t);
  const long = (length: number) => 'x'.repeat(length);
  const cases: [path: string, body: unknown, errors: unknown[]][] = [
    ['/notes', {}, [missing('title'), missing('body')]],
    ['/notes', { title: 'a' }, [missing('body')]],
    [
      '/notes',
      { title: long(501), body: long(100_001) },
      [
        inBody('#/title', 'maxLength', 'must NOT have more than 500 characters'),
        inBody('#/body', 'maxLength', 'must NOT have more than 100000 characters'),
      ],
    ],
    ['/notes', { title: ' \n\t', body: 'b' }, [inBody('#/title', 'pattern', 'must not be blank')]],
    [
      '/notes',
      { title: '', body: 1 },
      [
        inBody('#/title', 'minLength', 'must NOT have fewer than 1 characters'),
        inBody('#/title', 'pattern', 'must not be blank'),
        inBody('#/body', 'type', 'must be string'),
      ],
    ],
    [
      '/notes',
      { title: '\ud800', body: 'b' },
      [inBody('#/title', 'format', 'must be valid Unicode, without lone surrogates')],
    ],
    ['/tags', { name: null }, [inBody('#/name', 'type', 'must be string')]],
    ['/counter/increment', { workers: 1.5, count: '4' }, [integer('#/workers'), integer('#/count')]],
    [
      '/counter/increment',
      { workers: 17, count: 0 },
      [inBody('#/workers', 'maximum', 'must be <= 16'), inBody('#/count', 'minimum', 'must be >= 1')],
    ],
    [
      '/semaphore/run',
      { task_ids: [1, 'x', 2, null], concurrency_limit: 9 },
      [integer('#/task_ids/1'), integer('#/task_ids/3'), inBody('#/concurrency_limit', 'maximum', 'must be <= 8')],
    ],
    ['/pool/run', { items: Array(101).fill('a') }, [inBody('#/items', 'maxItems', 'must NOT have more than 50 items')]],
    [
      '/event/sync',
      { payload: long(501) },
      [inBody('#/payload', 'maxLength', 'must NOT have more than 500 characters')],
    ],
  ];
  for (const [path, json, errors] of cases) {
    const answer = await service.request('POST', path, { json });
    assert.deepEqual(
      [answer.status, answer.json.errors],
      [422, errors],
      `${path} ${JSON.stringify(json).slice(0, 80)}`,
    );
  }
});

test('what is wrong in the path, the query and the body is told at once', async (t) => {
  const service = await startService(t);
  const written = await service.request('PUT', '/notes/a/comments/1.5', { json: {} });
  assert.deepEqual(written.json.errors, [
    { field: 'note_id', in: 'path', code: 'type', detail: 'must be integer' },
    { field: 'comment_id', in: 'path', code: 'type', detail: 'must be integer' },
    missing('body'),
  ]);
  const listed = await service.request('GET', '/notes/a/comments?limit=101&offset=-1');
  assert.deepEqual(listed.json.errors, [
    { field: 'note_id', in: 'path', code: 'type', detail: 'must be integer' },
    { field: 'limit', in: 'query', code: 'maximum', detail: 'must be <= 100' },
    { field: 'offset', in: 'query', code: 'minimum', detail: 'must be >= 0' },
  ]);
});

test('the detail of the problem names the first faults and counts the rest', async (t) => {
  const service = await startService(t);
  const two = await service.request('POST', '/counter/increment', { json: { workers: '4', count: 0 } });
  assert.equal(two.json.detail, 'workers must be integer; count must be >= 1.');
  const many = await service.request('POST', '/pool/run', { json: { items: Array(5).fill(1) } });
  assert.equal(many.json.detail, 'items.0 must be string; items.1 must be string; items.2 must be string; and 2 more.');
});

test(`no more than ${SHOWN} entries are shown`, async (t) => {
  const service = await startService(t);
  for (const wrong of [SHOWN - 1, SHOWN, SHOWN + 1, 50]) {
    const { status, json } = await service.request('POST', '/pool/run', { json: { items: Array(wrong).fill(1) } });
    assert.deepEqual([status, json.errors.length], [422, Math.min(wrong, SHOWN)]);
  }
});

test('a fault far down a long list is found and told', async (t) => {
  const service = await startService(t);
  const items = [...Array(10_000).fill('a'), 1];
  const { status, json } = await service.request('POST', '/thread-local/run', { json: { items, context_key: 'k' } });
  assert.deepEqual([status, json.errors], [422, [inBody('#/items/10000', 'type', 'must be string')]]);
});

test('the values that were sent are not repeated', async (t) => {
  const service = await startService(t);
  const secret = 'hunter2';
  const json = { title: { secret }, body: `${secret}${'x'.repeat(100_000)}`, [secret]: secret };
  const { status, text } = await service.request('POST', `/notes?${secret}=${secret}`, { json });
  assert.equal(status, 422);
  assert.doesNotMatch(text, new RegExp(secret));
});

test('half a million wrong members are refused, and do not hold up the others', async (t) => {
  const service = await startService(t);
  const wrong = `${'0,'.repeat(499_999)}0`;
  const bodies: [path: string, body: string][] = [
    ['/thread-local/run', `{"context_key":"k","items":[${wrong}]}`],
    ['/pool/run', `{"items":[${wrong}]}`],
    ['/semaphore/run', `{"concurrency_limit":1,"task_ids":[${'null,'.repeat(199_999)}null]}`],
    ['/notes', `[${wrong}]`],
    ['/notes', `{${'"a":0,'.repeat(150_000)}"title":0}`],
    ['/notes', `{${Array.from({ length: 90_000 }, (_, index) => `"${index}":0`).join()}}`],
  ];
  for (const [path, body] of bodies) {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const { status, json } = await service.request('POST', path, { body });
    delay.disable();
    assert.equal(status, 422, path);
    assert.ok(json.errors.length <= SHOWN);
    assert.ok(delay.max < 1e9, `${path}: the event loop stood still for ${delay.max / 1e6} ms`);
  }
});
