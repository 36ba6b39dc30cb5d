// What the demonstrations refuse: each bound of the contract at and beyond it, empty lists, other methods. Specification,
// sections 4.6, 7 and 8.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pool } from '../../../src/concurrency/pool.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import type { Answer } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Those that take a list, and its member. */
const LISTS = [
  ['/semaphore/run', 'task_ids'],
  ['/pool/run', 'items'],
  ['/producer-consumer/run', 'items'],
  ['/thread-local/run', 'items'],
] as const;

/** What is wrong with a member: its JSON text (undefined: it is missing), and the field and the code that say so. */
type Fault = readonly [text: string | undefined, code: string, field?: string];

const NO_NUMBERS = [
  '"4"',
  '"1"',
  '""',
  '4.0',
  '4e0',
  '4E0',
  '1.0',
  '16.9',
  '0.5',
  '1e400',
  'null',
  'true',
  '[1]',
  '{}',
];
const NO_TEXTS = ['1', '1.0', 'null', 'true', '["a"]', '{}'];
const NO_LISTS = ['"a"', '1', 'null', 'true', '{"0":"a"}', '""'];
const MISSING: Fault = [undefined, 'required'];

function integerFaults(most: number): Fault[] {
  const outside: Fault[] = [
    ['0', 'minimum'],
    ['-1', 'minimum'],
    [String(most + 1), 'maximum'],
    ['9007199254740993', 'maximum'],
  ];
  return [...outside, ...NO_NUMBERS.map((text): Fault => [text, 'type'])];
}

function textFaults(most: number): Fault[] {
  const outside: Fault[] = [
    [JSON.stringify('x'.repeat(most + 1)), 'maxLength'],
    [JSON.stringify('😀'.repeat(most + 1)), 'maxLength'],
    ['"\\ud800"', 'format'],
    ['"\\udc00\\ud800"', 'format'],
  ];
  return [MISSING, ...outside, ...NO_TEXTS.map((text): Fault => [text, 'type'])];
}

function listFaults(member: string): Fault[] {
  const items = ['1', 'null', '["a"]', '1.5'].map((text): Fault => [`["a",${text}]`, 'type', `${member}.1`]);
  return [
    MISSING,
    ...NO_LISTS.map((text): Fault => [text, 'type']),
    ...items,
    ['["\\ud800"]', 'format', `${member}.0`],
  ];
}

const LONG_LIST: Fault = [JSON.stringify(Array(51).fill('a')), 'maxItems'];

const FAULTS: readonly [path: string, member: string, faults: readonly Fault[]][] = [
  ['/counter/increment', 'workers', [MISSING, ...integerFaults(16)]],
  ['/counter/increment', 'count', [MISSING, ...integerFaults(1_000)]],
  ['/semaphore/run', 'concurrency_limit', [MISSING, ...integerFaults(8)]],
  [
    '/semaphore/run',
    'task_ids',
    [
      MISSING,
      ...NO_LISTS.map((text): Fault => [text, 'type']),
      ...NO_NUMBERS.map((text): Fault => [`[1,${text}]`, 'type', 'task_ids.1']),
      [JSON.stringify(Array(51).fill(1)), 'maxItems'],
      ['[9007199254740992]', 'maximum', 'task_ids.0'],
      ['[-9007199254740992]', 'minimum', 'task_ids.0'],
    ],
  ],
  ['/event/sync', 'payload', textFaults(500)],
  ['/pool/run', 'items', [...listFaults('items'), LONG_LIST]],
  ['/pool/run', 'max_workers', integerFaults(8)],
  ['/producer-consumer/run', 'items', [...listFaults('items'), LONG_LIST]],
  ['/producer-consumer/run', 'num_consumers', integerFaults(8)],
  ['/producer-consumer/run', 'queue_size', integerFaults(50)],
  ['/thread-local/run', 'items', listFaults('items')],
  ['/thread-local/run', 'context_key', [...textFaults(100), ['""', 'minLength']]],
];

function textOf(members: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${present.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function send(service: Service, path: string, body: string): Promise<Answer> {
  return service.request('POST', path, { body, headers: JSON_TYPE });
}

for (const [path, member, faults] of FAULTS) {
  test(`${path}: what ${member} must not be is 422 and names it`, async (t) => {
    const service = await startService(t);
    for (const [text, code, field = member] of faults) {
      const answer = await send(service, path, textOf({ ...TAKEN[path], [member]: text }));
      const label = `${member}: ${text?.slice(0, 60)}`;
      assert.equal(answer.status, 422, label);
      const errors: { field: string; code: string }[] = answer.json.errors;
      assert.deepEqual([errors[0]?.field, errors[0]?.code], [field, code], label);
      // A fraction may be out of range as well.
      for (const each of errors) assert.equal(each.field, field, label);
      assert.equal(errors.length, text && /^\d+\.\d/.test(text) ? errors.length : 1, label);
    }
  });
}

test('a body that is no object is 422, and one that is no JSON is 400', async (t) => {
  const service = await startService(t);
  for (const path of Object.keys(TAKEN)) {
    for (const body of ['[]', 'null', '1', '"a"']) assert.equal((await send(service, path, body)).status, 422);
    for (const body of ['', '{', '{"workers":04}', "{'a':1}"])
      assert.equal((await send(service, path, body)).status, 400);
  }
});

test('an empty list is 400 and says which', async (t) => {
  const service = await startService(t);
  for (const [path, list] of LISTS) {
    const answer = await send(service, path, textOf({ ...TAKEN[path], [list]: '[]' }));
    assert.deepEqual(answer.json, {
      type: `${service.url}/problems/bad-request`,
      title: 'Bad Request',
      status: 400,
      detail: `${list} must not be empty`,
    });
    assert.equal(answer.status, 400);
  }
});

test('101 items for the pool are stopped by the bound of 50, and nothing tells of the one below', async (t) => {
  const service = await startService(t);
  const answer = await service.request('POST', '/pool/run', {
    json: { items: numbered(101) },
    headers: { 'x-request-id': 'pool' },
  });
  assert.equal(answer.status, 422);
  assert.equal(answer.json.errors[0].detail, 'must NOT have more than 50 items');
  const { date, ...headers } = answer.headers;
  const said = `${JSON.stringify(headers)}${answer.text}`.replaceAll(service.url, '');
  assert.ok(date);
  assert.doesNotMatch(said, /100|101|task/i);
});

test('the work function of the pool has its own bound of 100 tasks', () => {
  const work = (count: number) => pool.work(pool.prepare({ items: numbered(count), max_workers: 1 }).inputFor(0), 0);
  assert.equal(work(100).length, 100);
  assert.throws(() => work(101), /at most 100 tasks/);
});

test('members that are not known are ignored, and change nothing', async (t) => {
  const service = await startService(t);
  for (const [path, members] of Object.entries(TAKEN)) {
    const plain = await send(service, path, textOf(members));
    const more = { ['__proto__']: '{"workers":9}', constructor: '1.5', total: '7', failed: '["x"]', ...members };
    const answer = await send(service, path, `{"extra":[4.0,null],${textOf(more).slice(1)}`);
    assert.deepEqual([answer.status, answer.json], [200, plain.json], path);
  }
});

test('what may be left out has its default', async (t) => {
  const service = await startService(t);
  const pooled = await run(service, '/pool/run', { items: ['a'] });
  assert.equal(pooled.max_workers, 4);
  const passed = await run(service, '/producer-consumer/run', { items: ['a'] });
  assert.deepEqual([passed.num_consumers, passed.queue_size], [2, 10]);
});

test('the demonstrations are there for POST alone', async (t) => {
  const service = await startService(t);
  for (const path of Object.keys(TAKEN)) {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers, bytes } = await service.request(method, path);
      assert.deepEqual([status, headers.allow], [405, 'POST, OPTIONS'], `${method} ${path}`);
      assert.equal(bytes.length > 0, method !== 'HEAD');
    }
    const { status, headers } = await service.request('OPTIONS', path);
    assert.deepEqual([status, headers.allow], [204, 'POST, OPTIONS']);
    assert.equal((await service.request('POST', `${path}/`, { json: {} })).status, 404);
  }
});
