// The member `errors` of a 422: one entry for each violated rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inAnyOrder } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';

const SHOWN = 20;
const SEARCHED = 100;
const UNKNOWN = 10;

const inBody = (pointer: string, code: string, detail: string) => ({
  field: pointer.slice(2).replaceAll('/', '.'),
  in: 'body',
  pointer,
  code,
  detail,
});

const missing = (name: string) => inBody(`#/${name}`, 'required', 'is required');
const integer = (pointer: string) => inBody(pointer, 'type', 'must be an integer');
const tooLong = (pointer: string, length: number) =>
  inBody(pointer, 'maxLength', `must have at most ${length} characters`);

const CASES: readonly (readonly [path: string, body: unknown, errors: readonly unknown[]])[] = [
  ['/notes', {}, [missing('title'), missing('body')]],
  [
    '/notes',
    { title: '', body: 'x'.repeat(100_001) },
    [inBody('#/title', 'minLength', 'must not be empty'), tooLong('#/body', 100_000)],
  ],
  ['/notes', { title: ' \n\t', body: 'b' }, [inBody('#/title', 'pattern', 'must not be blank')]],
  ['/tags', { name: null }, [inBody('#/name', 'type', 'must be a string')]],
  ['/counter/increment', { workers: 1.5, count: '4' }, [integer('#/workers'), integer('#/count')]],
  [
    '/counter/increment',
    { workers: 17, count: 0 },
    [
      inBody('#/workers', 'maximum', 'must be at most 16'),
      inBody('#/count', 'minimum', 'must be at least 1'),
    ],
  ],
  [
    '/semaphore/run',
    { task_ids: [1, 'x', 2, null], concurrency_limit: 9 },
    [
      integer('#/task_ids/1'),
      integer('#/task_ids/3'),
      inBody('#/concurrency_limit', 'maximum', 'must be at most 8'),
    ],
  ],
  ['/counter/increment', { count: 1 }, [missing('workers')]],
  ['/event/sync', { payload: '😀'.repeat(501) }, [tooLong('#/payload', 500)]],
  [
    '/producer-consumer/run',
    { items: ['a'], queue_size: 9_007_199_254_740_992 },
    [inBody('#/queue_size', 'maximum', 'must be at most 50')],
  ],
  [
    '/thread-local/run',
    { items: ['a'], context_key: '\ud800' },
    [inBody('#/context_key', 'format', 'must be valid Unicode, without lone surrogates')],
  ],
];

test('validation errors', async (t) => {
  const service = await startService(t);
  const post = (path: string, json: unknown) => service.request('POST', path, { json });

  await t.test('validation errors: an entry for each violated rule', async () => {
    for (const [path, json, errors] of CASES) {
      const answer = await post(path, json);
      const label = `${path} ${JSON.stringify(json).slice(0, 80)}`;
      assert.equal(answer.status, 422, label);
      assert.deepEqual(inAnyOrder(answer.json.errors), inAnyOrder(errors), label);
    }
  });

  await t.test('validation errors: path, query and body in one answer', async () => {
    const inPath = (field: string) => {
      return { field, in: 'path', code: 'type', detail: 'must be an integer' };
    };
    const written = await service.request('PUT', '/notes/a/comments/1.5?x=1', {
      json: { y: 1 },
    });
    const unknown = { code: 'unknown', detail: 'is not known' };
    assert.deepEqual(written.json.errors, [
      { field: 'x', in: 'query', ...unknown },
      inPath('note_id'),
      inPath('comment_id'),
      inBody('#/y', unknown.code, unknown.detail),
      missing('body'),
    ]);
    const listed = await service.request('GET', '/notes/a/comments?limit=101&offset=-1');
    const errors = [
      inPath('note_id'),
      { field: 'limit', in: 'query', code: 'maximum', detail: 'must be at most 100' },
      { field: 'offset', in: 'query', code: 'minimum', detail: 'must be at least 0' },
    ];
    assert.deepEqual(inAnyOrder(listed.json.errors), inAnyOrder(errors));
  });

  await t.test('validation errors: the detail names three and counts the rest', async () => {
    const two = await post('/semaphore/run', { task_ids: ['4', null], concurrency_limit: 1 });
    assert.equal(two.json.detail, 'task_ids.0 must be an integer; task_ids.1 must be an integer.');
    const many = await post('/pool/run', { items: Array(5).fill(1) });
    const first = [0, 1, 2].map((index) => `items.${index} must be a string; `).join('');
    assert.equal(many.json.detail, `${first}and 2 more.`);
  });

  await t.test('validation errors: no values of the request', async () => {
    const secret = 'hunter2';
    const json = { title: { secret }, body: `${secret}${'x'.repeat(100_000)}`, x: secret };
    const { status, text } = await post(`/notes?x=${secret}`, json);
    assert.equal(status, 422);
    assert.doesNotMatch(text, new RegExp(secret));
  });

  await t.test('validation errors: collected from the start of a long list', async () => {
    const wrong = `[${'0,'.repeat(499_999)}0]`;
    const names = Array.from({ length: 90_000 }, (_, index) => `"${index}":0`);
    for (const [path, body, found] of [
      ['/thread-local/run', `{"context_key":"k","items":${wrong}}`, SEARCHED],
      // One more: the list is too long as well.
      ['/pool/run', `{"items":${wrong}}`, SEARCHED + 1],
      ['/pool/run', `{"items":[${'0,'.repeat(SHOWN - 2)}0]}`, SHOWN - 1],
      ['/pool/run', `{"items":[${'0,'.repeat(SHOWN)}0]}`, SHOWN + 1],
      ['/notes', wrong, 1],
      ['/notes', `{"title":"a","body":"b",${names.join()}}`, UNKNOWN],
    ] as const) {
      const { status, json } = await service.request('POST', path, { body });
      assert.equal(status, 422, path);
      assert.equal(json.errors.length, Math.min(found, SHOWN));
      if (found > SHOWN) assert.match(json.detail, new RegExp(`; and ${found - 3} more\\.$`));
    }
  });
});
