// What the demonstrations refuse: values beyond the bounds of the contract, and empty lists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pool } from '../../../src/concurrency/pool.ts';
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

// A busy machine starts threads slowly.
Object.assign(POOL_LIMITS, { queueMs: 60_000 });
// Each thread would write a file of coverage.
delete process.env.NODE_V8_COVERAGE;
const service = await startService({ after });

/**
 * One wrong member of each kind, as JSON text (undefined: missing), with the field and the code of
 * the error; contract/bounds.test.ts has every bound.
 */
const FAULTS: readonly (readonly [
  path: string,
  member: string,
  text: string | undefined,
  field: string,
  code: string,
])[] = [
  ['/counter/increment', 'workers', undefined, 'workers', 'required'],
  ['/counter/increment', 'workers', '0', 'workers', 'minimum'],
  ['/counter/increment', 'workers', '4.0', 'workers', 'type'],
  ['/semaphore/run', 'task_ids', '[1,4.0]', 'task_ids.1', 'type'],
  ['/event/sync', 'payload', JSON.stringify('😀'.repeat(501)), 'payload', 'maxLength'],
  ['/pool/run', 'items', JSON.stringify(Array(51).fill('a')), 'items', 'maxItems'],
  ['/producer-consumer/run', 'queue_size', '9007199254740993', 'queue_size', 'maximum'],
  ['/thread-local/run', 'context_key', '"\\ud800"', 'context_key', 'format'],
];

/** Posts a request that is valid but for this member. */
function post(path: string, member: string, text: string | undefined): Promise<Answer> {
  const members = Object.entries({ ...TAKEN[path], [member]: text });
  const present = members.filter(([, value]) => value !== undefined);
  const body = `{${present.map(([name, value]) => `"${name}":${value}`).join()}}`;
  return service.request('POST', path, { body, headers: { 'content-type': 'application/json' } });
}

test('demonstrations: 422 for a wrong member', async () => {
  for (const [path, member, text, field, code] of FAULTS) {
    const { status, json } = await post(path, member, text);
    const label = `${path}: ${member}: ${text?.slice(0, 60)}`;
    assert.equal(status, 422, label);
    const errors: { field: string; code: string }[] = json.errors;
    assert.deepEqual(
      errors.map((each) => [each.field, each.code]),
      [[field, code]],
      label,
    );
  }
});

test('demonstrations: 400 for an empty list', async () => {
  for (const [path, members] of Object.entries(TAKEN)) {
    for (const [list] of Object.entries(members).filter(([, text]) => text.startsWith('['))) {
      const { status, json } = await post(path, list, '[]');
      assert.deepEqual([status, json.detail], [400, `${list} must not be empty`]);
    }
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
