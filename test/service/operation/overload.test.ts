// The bounds of what waits or is held in memory: requests beyond them are refused, others served.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DISPATCH_LIMITS, HTTP_LIMITS } from '../../../src/http/limits.ts';
import { notes } from '../../../src/resources/notes.ts';
import { BATCH_LIMITS, QueueFull } from '../../../src/storage/batcher.ts';
import { openDatabase } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import { setLimits } from '../../support/overload.ts';
import { assertProblem, converse, type RawAnswer, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { whileLocked } from '../../support/stored-data.ts';
import { plainTable } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

/** Asserts that the answer refuses a request for this reason. */
function assertOverloaded(answer: RawAnswer, detail = 'Too many requests are waiting.'): void {
  assert.equal(assertProblem(answer, 'service-unavailable').detail, detail);
  assert.equal(answer.headers['retry-after'], '1');
}

/** Requests of each kind that uses the database. */
const DATABASE_REQUESTS = [
  requestText('GET /notes/1'),
  requestText('GET /notes'),
  requestText('POST /notes', [], JSON.stringify(NOTE)),
  requestText('PUT /notes/1', [], JSON.stringify(NOTE)),
];

test('overload: waiting lists are bounded and delay no short read', async (t) => {
  setLimits(t, BATCH_LIMITS, { queueItems: 1_000 });
  const database = await openDatabase(t);
  const table = plainTable(notes, database);
  const id = await table.create(['a', 'b']);
  let done = 0;
  const lists = Array.from({ length: BATCH_LIMITS.queueItems + 10 }, () =>
    table.page(20, 0).finally(() => {
      done += 1;
    }),
  );
  const outcomes = Promise.allSettled(lists);
  assert.notEqual(await table.read(id ?? 0), undefined);
  await database.ping();
  assert.ok(done < lists.length / 2, String(done));
  const refused = (await outcomes).flatMap((each) =>
    each.status === 'rejected' ? [each.reason] : [],
  );
  assert.equal(refused.length, 10);
  assert.ok(refused.every((error) => error instanceof QueueFull));
  assert.equal((await table.page(20, 0))?.total, 1, 'the queue has room again');
});

test('overload: a refusal is held back, whatever the request', async (t) => {
  setLimits(t, BATCH_LIMITS, { queueItems: 0 });
  setLimits(t, DISPATCH_LIMITS, { heldBackMs: 400 });
  const service = await startService(t);
  await Promise.all(
    DATABASE_REQUESTS.map(async (text) => {
      const started = performance.now();
      const { answer } = await converse(service, text);
      assertOverloaded(await answer());
      assert.ok(performance.now() - started >= 199, text);
    }),
  );
  assert.equal((await service.request('GET', '/health')).status, 200);
});

test('overload: writes beyond those that may wait are refused', { skip: needsFile }, async (t) => {
  setLimits(t, BATCH_LIMITS, { guaranteedItems: 2, batchItems: 1, burstMs: 0, waitMs: 0 });
  setLimits(t, DISPATCH_LIMITS, { heldBackMs: 0 });
  const service = await startService(t);
  const post = requestText('POST /notes', [], JSON.stringify(NOTE));
  const conversations = await whileLocked(service.file, async () => {
    const conversations = await Promise.all(
      Array.from({ length: 8 }, () => converse(service, post)),
    );
    assert.equal((await service.request('GET', '/notes')).status, 200);
    return conversations;
  });
  const answers = await Promise.all(conversations.map(({ answer }) => answer()));
  const refused = answers.filter(({ status }) => status !== 201);
  assert.ok(refused.length > 0 && refused.length <= 6, String(refused.length));
  for (const answer of refused) assertOverloaded(answer);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
});

test('overload: a held-back refusal is sent before the end', async (t) => {
  setLimits(t, BATCH_LIMITS, { queueItems: 0 });
  setLimits(t, DISPATCH_LIMITS, { heldBackMs: 400 });
  const service = await startService(t);
  const { answer } = await converse(service, requestText('GET /notes'));
  await service.close();
  assertOverloaded(await answer());
});

test('overload: no refusal is held back for a client that has gone', async (t) => {
  setLimits(t, BATCH_LIMITS, { queueItems: 0 });
  setLimits(t, DISPATCH_LIMITS, { heldBackMs: 600_000 });
  setLimits(t, HTTP_LIMITS, { probeMs: 20 });
  const service = await startService(t);
  const { socket } = await converse(service, requestText('GET /notes'));
  // A later request has its answer, so that this one has been refused.
  assert.equal((await service.request('GET', '/health')).status, 200);
  socket.destroy();
  await until(() => service.log.some(({ fields }) => fields.route === '/notes'));
});

test('overload: large bodies are bounded, small ones are served', async (t) => {
  setLimits(t, DISPATCH_LIMITS, { bodiesBytes: 4_000_000 });
  const service = await startService(t);
  // One more than fits.
  const length = 400_000;
  const fits = Math.floor(DISPATCH_LIMITS.bodiesBytes / length);
  const head = requestText('POST /notes', [`content-length: ${length}`]);
  const body = JSON.stringify(NOTE).padEnd(length);
  const sent = Array.from({ length: fits + 1 }, () => converse(service, head, body.slice(0, -1)));
  const conversations = await Promise.all(sent);
  const pending = conversations.map(({ answer }) => answer());
  const refusal = await Promise.race(pending);
  assertOverloaded(refusal, 'Too many large or slow bodies are arriving.');
  assert.equal((await service.request('GET', '/health')).status, 200);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  for (const { socket } of conversations) socket.write(' ');
  const statuses = (await Promise.all(pending)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([201, 503]));
  // A refused body counts until it is answered, so that more than one may be refused.
  assert.ok(statuses.filter((status) => status === 503).length < 5, String(statuses));
  assert.equal((await service.request('POST', '/notes', { body })).status, 201);
  for (const { socket } of conversations) socket.destroy();
});

test('overload: a write whose answer finds no room is not carried out', async (t) => {
  const large = { title: 'large', body: 'x'.repeat(99_000) };
  const first = await startService(t);
  await first.request('PUT', '/named/large', { json: large });
  await first.request('POST', '/tags', { json: { name: 'a' } });
  await first.close();
  setLimits(t, DISPATCH_LIMITS, { repliesBytes: 50_000 });
  const { request } = await startService(t, { db: first.file });
  const { next } = (await request('GET', '/changes')).json;
  for (const [method, path, json] of [
    ['PATCH', '/notes/1', { title: 'new' }],
    ['PATCH', '/named/large', { title: 'new' }],
    ['PATCH', '/notes/1', { tags: ['new'] }],
    ['PUT', '/notes/1', large],
    ['PUT', '/named/other', large],
    ['POST', '/notes', large],
    ['POST', '/notes', { ...large, tags: ['a'] }],
    ['POST', '/notes/1/append', { text: 'a' }],
    ['POST', '/notes/1/edit', { old_text: 'absent', new_text: 'a' }],
  ] as const) {
    const what = `${method} ${path} ${Object.keys(json)}`;
    const { status, json: problem } = await request(method, path, { json });
    assert.deepEqual([status, problem.status], [503, 503], what);
  }
  assert.equal((await request('GET', '/changes')).json.next, next);
  assert.equal((await request('DELETE', '/notes/1')).status, 204);
  assert.equal((await request('POST', '/trash/1/restore')).status, 503);
  assert.equal((await request('GET', '/trash/1')).status, 200);
  assert.equal((await request('PATCH', '/tags/1', { json: { name: 'b' } })).status, 200);
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
});

/** The start of a request of each kind whose body has not arrived whole, and takes 4,096 bytes. */
const SLOW_BODIES = [
  requestText('POST /notes', ['content-length: 5000']),
  requestText('POST /notes', ['transfer-encoding: chunked']),
  requestText('POST /notes', ['content-length: 5000', 'content-type: application/x-ndjson']),
  requestText('PUT /named/a', ['content-length: 5000', 'content-type: text/plain']),
  requestText('DELETE /notes/1', ['content-length: 5000']),
];

for (const head of SLOW_BODIES)
  test(`overload: a slow body counts from its first byte: ${head.split('\r\n', 3)}`, async (t) => {
    setLimits(t, DISPATCH_LIMITS, { bodiesBytes: 2 * 4_096 });
    const service = await startService(t);
    const start = head + (head.includes('chunked') ? '1\r\n{\r\n' : '{');
    const slow = await Promise.all(Array.from({ length: 3 }, () => converse(service, start)));
    const refusal = await Promise.race(slow.map(({ answer }) => answer()));
    assertOverloaded(refusal, 'Too many large or slow bodies are arriving.');
    assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
    for (const { socket } of slow) socket.destroy();
  });
