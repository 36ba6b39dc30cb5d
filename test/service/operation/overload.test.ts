// What waits or is held is bounded: who comes on top is told to come back, and all others are served as ever.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { notes } from '../../../src/collections/notes.ts';
import { DISPATCH_LIMITS } from '../../../src/http/dispatch.ts';
import { INBOX_LIMITS } from '../../../src/http/inbox.ts';
import { BATCH_LIMITS } from '../../../src/storage/batcher.ts';
import { DatabaseOverloaded } from '../../../src/storage/database.ts';
import { createTable } from '../../../src/storage/table.ts';
import { createWriter } from '../../../src/storage/writer.ts';
import { openDatabase } from '../../support/databases.ts';
import { assertProblem, converse, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

test('of the lists that wait for the database there is a bound, and whatever is short is not held up by it', async (t) => {
  const database = await openDatabase(t);
  const table = createTable(notes.shape, database, createWriter(database));
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
  const refused = (await outcomes).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  assert.equal(refused.length, 10);
  assert.ok(refused.every((error) => error instanceof DatabaseOverloaded));
  // The next one finds room.
  assert.equal((await table.page(20, 0))?.total, 1);
});

test('1,000 clients that ask for a list at once are all answered', async (t) => {
  const service = await startService(t);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => service.request('GET', '/notes')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

/** Other limits until the end of a test. */
function limit<Limits extends object>(test: Pick<TestContext, 'after'>, limits: Limits, values: Partial<Limits>): void {
  const usual = { ...limits };
  test.after(() => Object.assign(limits, usual));
  Object.assign(limits, values);
}

test('who comes on top of what waits too long is sent away, after a while; all others are served', async (t) => {
  limit(t, BATCH_LIMITS, { shortItems: 2, waitMs: 0, burstItems: 0 });
  limit(t, DISPATCH_LIMITS, { heldBackMs: 400 });
  const service = await startService(t);
  const note = '{"title":"a","body":"b"}';
  assert.equal((await service.request('POST', '/notes', { body: note })).status, 201);
  for (const [line, body, status] of [
    ['GET /notes/1', '', 200],
    ['GET /notes', '', 200],
    ['POST /notes', note, 201],
    ['PUT /notes/1', note, 200],
  ] as const) {
    const text = requestText(line, [], body);
    const round = async () => {
      const conversations = await Promise.all(Array.from({ length: 64 }, () => converse(service, text.slice(0, -1))));
      const started = performance.now();
      const answers = conversations.map(async ({ socket, answer }) => {
        socket.write(text.slice(-1));
        return { answer: await answer(), milliseconds: performance.now() - started };
      });
      assert.equal((await service.request('GET', '/health')).status, 200);
      const all = await Promise.all(answers);
      for (const { socket } of conversations) socket.destroy();
      return all;
    };
    // On a busy machine they may come in so slowly that none of them waits for another.
    let all = await round();
    for (let left = 20; left > 0 && all.every(({ answer }) => answer.status === status); left -= 1) all = await round();
    const refused = all.filter(({ answer }) => answer.status !== status);
    assert.ok(refused.length > 0 && refused.length < 63, `${line}: ${refused.length}`);
    for (const { answer, milliseconds } of refused) {
      assert.equal(assertProblem(answer, 'service-unavailable').detail, 'Too many requests wait for the database.');
      assert.equal(answer.headers['retry-after'], '1');
      assert.ok(milliseconds > 199, String(milliseconds));
    }
  }
});

test('a refusal that is held back goes out before the service ends', async (t) => {
  limit(t, BATCH_LIMITS, { queueItems: 0 });
  limit(t, DISPATCH_LIMITS, { heldBackMs: 400 });
  const service = await startService(t);
  const refused = await converse(service, requestText('GET /notes'));
  await service.close();
  assertProblem(await refused.answer(), 'service-unavailable');
});

test('a refusal is not held back any longer for a client that has gone', async (t) => {
  limit(t, BATCH_LIMITS, { queueItems: 0 });
  limit(t, DISPATCH_LIMITS, { heldBackMs: 600_000 });
  const service = await startService(t);
  const { socket } = await converse(service, requestText('GET /notes'));
  // What comes later is answered, so that one has been refused.
  assert.equal((await service.request('GET', '/health')).status, 200);
  socket.destroy();
  await until(() => service.log.some(({ fields }) => fields.route === '/notes'));
});

test('large bodies that come in at one time are bounded; small ones and the health check are not held up', async (t) => {
  const service = await startService(t);
  const length = 1_000_000;
  const fits = Math.floor(INBOX_LIMITS.togetherBytes / length);
  const head = requestText('POST /notes', [`content-length: ${length}`]);
  const body = '{"title":"a","body":"b"}'.padEnd(length);
  // One more than there is room for, and each without its last byte.
  const sent = Array.from({ length: fits + 1 }, () => converse(service, head, body.slice(0, -1)));
  const conversations = await Promise.all(sent);
  const pending = conversations.map(({ answer }) => answer());
  const refusal = await Promise.race(pending);
  assert.equal(assertProblem(refusal, 'service-unavailable').detail, 'Too many large bodies come in at one time.');
  assert.equal(refusal.headers['retry-after'], '1');
  assert.equal((await service.request('GET', '/health')).status, 200);
  assert.equal((await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status, 201);

  for (const { socket } of conversations) socket.write(' ');
  const statuses = (await Promise.all(pending)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([201, 503]));
  // Until it is answered, who is refused still counts.
  assert.ok(statuses.filter((status) => status === 503).length < 5, String(statuses));
  assert.equal((await service.request('POST', '/notes', { body })).status, 201);
  for (const { socket } of conversations) socket.destroy();
});
