// What the demonstrations refuse: empty lists, and lists that are too long. Other wrong members are
// in records/validation-errors.test.ts, and every bound in contract/bounds.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pool } from '../../../src/concurrency/pool.ts';
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import { setLimits } from '../../support/overload.ts';
import { startService } from '../../support/service.ts';

// A busy machine starts threads slowly.
setLimits({ after }, POOL_LIMITS, { queueMs: 60_000 });
// Each thread would write a file of coverage.
delete process.env.NODE_V8_COVERAGE;
const service = await startService({ after });

test('demonstrations: 400 for an empty list', async () => {
  for (const [path, members] of Object.entries(TAKEN)) {
    for (const [list] of Object.entries(members).filter(([, text]) => text.startsWith('['))) {
      const others = Object.entries({ ...members, [list]: '[]' });
      const body = `{${others.map(([name, text]) => `"${name}":${text}`)}}`;
      const { status, json } = await service.request('POST', path, { body });
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
