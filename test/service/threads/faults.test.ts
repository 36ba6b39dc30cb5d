// What the demonstrations refuse: values beyond the bounds of the contract, and empty lists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pool } from '../../../src/concurrency/pool.ts';
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

const LISTS = [
  ['/semaphore/run', 'task_ids'],
  ['/pool/run', 'items'],
  ['/producer-consumer/run', 'items'],
  ['/thread-local/run', 'items'],
] as const;

/** The JSON text of a member (undefined: missing), and the code and field of the error. */
type Fault = readonly [text: string | undefined, code: string, field?: string];

const MISSING: Fault = [undefined, 'required'];

// A busy machine starts threads slowly.
Object.assign(POOL_LIMITS, { queueMs: 60_000 });
// Each thread would write a file of coverage.
delete process.env.NODE_V8_COVERAGE;
const service = await startService({ after });

/** One of each kind; contract/bounds.test.ts has every bound. */
const FAULTS: readonly (readonly [path: string, member: string, ...faults: Fault[]])[] = [
  ['/counter/increment', 'workers', MISSING, ['0', 'minimum'], ['17', 'maximum'], ['4.0', 'type']],
  ['/semaphore/run', 'task_ids', ['null', 'type'], ['[1,4.0]', 'type', 'task_ids.1']],
  ['/event/sync', 'payload', ['1', 'type'], [JSON.stringify('😀'.repeat(501)), 'maxLength']],
  ['/pool/run', 'items', [JSON.stringify(Array(51).fill('a')), 'maxItems']],
  ['/producer-consumer/run', 'queue_size', ['51', 'maximum'], ['9007199254740993', 'maximum']],
  ['/thread-local/run', 'context_key', ['""', 'minLength'], ['"\\ud800"', 'format']],
];

function textOf(members: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${present.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function post(path: string, body: string): Promise<Answer> {
  return service.request('POST', path, { body, headers: { 'content-type': 'application/json' } });
}

for (const [path, member, ...faults] of FAULTS) {
  test(`demonstrations: 422 for a wrong ${member} of ${path}`, async () => {
    for (const [text, code, field = member] of faults) {
      const answer = await post(path, textOf({ ...TAKEN[path], [member]: text }));
      const label = `${member}: ${text?.slice(0, 60)}`;
      assert.equal(answer.status, 422, label);
      const errors: { field: string; code: string }[] = answer.json.errors;
      assert.deepEqual([errors[0]?.field, errors[0]?.code], [field, code], label);
      assert.equal(errors.length, 1, label);
    }
  });
}

test('demonstrations: 422 for no object, 400 for no JSON', async () => {
  for (const path of Object.keys(TAKEN)) {
    for (const body of ['[]', 'null', '1', '"a"'])
      assert.equal((await post(path, body)).status, 422);
    for (const body of ['', '{', '{"workers":04}', "{'a':1}"])
      assert.equal((await post(path, body)).status, 400);
  }
});

test('demonstrations: 400 for an empty list', async () => {
  for (const [path, list] of LISTS) {
    const answer = await post(path, textOf({ ...TAKEN[path], [list]: '[]' }));
    assert.deepEqual(answer.json, {
      type: `${service.url}/problems/bad-request`,
      title: 'Bad Request',
      status: 400,
      detail: `${list} must not be empty`,
    });
    assert.equal(answer.status, 400);
  }
});

test('pool: 101 items meet the bound of 50, not the inner one', async () => {
  const answer = await service.request('POST', '/pool/run', {
    json: { items: numbered(101) },
    headers: { 'x-request-id': 'pool' },
  });
  assert.equal(answer.status, 422);
  assert.equal(answer.json.errors[0].detail, 'must have at most 50 items');
  const { date, ...headers } = answer.headers;
  const said = `${JSON.stringify(headers)}${answer.text}`.replaceAll(service.url, '');
  assert.ok(date);
  assert.doesNotMatch(said, /100|101|task/i);
});

test('pool: its work function accepts at most 100 items', () => {
  const work = (count: number) => {
    const { inputs } = pool.prepare({ items: numbered(count), max_workers: 1 });
    return inputs.flatMap(pool.work);
  };
  assert.equal(work(100).length, 100);
  assert.throws(() => work(101), /at most 100 items/);
});

test('demonstrations: defaults of pool and queue', async () => {
  const pooled = await run(service, '/pool/run', { items: ['a'] });
  assert.equal(pooled.max_workers, 4);
  const passed = await run(service, '/producer-consumer/run', { items: ['a'] });
  assert.deepEqual([passed.num_consumers, passed.queue_size], [2, 10]);
});
