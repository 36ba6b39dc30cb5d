// What waits or is held is bounded: who comes on top is told to come back, and all others are served as ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INBOX_LIMITS } from '../../src/http/inbox.ts';
import { DatabaseOverloaded } from '../../src/storage/database.ts';
import { LONG_WORK_LIMIT } from '../../src/storage/sqlite-connection.ts';
import { openDatabase } from '../storage/databases.ts';
import { startService } from './harness.ts';
import { assertProblem, converse, requestText } from './raw.ts';

const PING = { sql: 'SELECT count(*) FROM sqlite_schema' };
/** As many as read beside the writer. */
const READERS = 2;

test('of the lists that wait for the database there is a bound, and whatever is short is not held up by it', async (t) => {
  const database = await openDatabase(t);
  const fits = READERS * LONG_WORK_LIMIT;
  const lists = Array.from({ length: fits + 10 }, () => database.read(PING, () => {}));
  const short = database.read(PING);
  const outcomes = await Promise.allSettled(lists);
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  assert.equal(refused.length, 10);
  assert.ok(refused.every((error) => error instanceof DatabaseOverloaded));
  assert.equal((await short).length, 1);
  // The next one finds room.
  assert.equal((await database.read(PING, () => {})).length, 1);
});

test('1,000 clients that ask for a list at once are all answered', async (t) => {
  const service = await startService(t);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => service.request('GET', '/notes')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
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
