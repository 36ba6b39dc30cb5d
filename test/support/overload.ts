// Sends more load than the service accepts. The caller chooses the size.
import assert from 'node:assert/strict';
import { DISPATCH_LIMITS } from '../../src/http/limits.ts';
import type { Ends } from './engine.ts';
import { assertProblem, converse, type RawAnswer, requestText } from './raw.ts';
import type { Service } from './service.ts';

/** Changes limits of the service until the end of the test. */
export function setLimits<Limits extends object>(
  test: Ends,
  limits: Limits,
  values: Partial<Limits>,
): void {
  const usual = { ...limits };
  test.after(() => Object.assign(limits, usual));
  Object.assign(limits, values);
}

/** Asserts that the answer refuses a request because too many wait for the database. */
export function assertOverloaded(answer: RawAnswer): void {
  assert.equal(
    assertProblem(answer, 'service-unavailable').detail,
    'Too many requests are waiting.',
  );
  assert.equal(answer.headers['retry-after'], '1');
}

/** Requests of each kind that uses the database, with the status of success; note 1 exists. */
export const DATABASE_REQUESTS = [
  ['GET /notes/1', '', 200],
  ['GET /notes', '', 200],
  ['POST /notes', '{"title":"a","body":"b"}', 201],
  ['PUT /notes/1', '{"title":"a","body":"b"}', 200],
] as const;

/** Sends one large body more than fits: one is refused, small ones are served meanwhile. */
export async function overfillWithBodies(service: Service, length: number): Promise<void> {
  const fits = Math.floor(DISPATCH_LIMITS.bodiesBytes / length);
  const head = requestText('POST /notes', [`content-length: ${length}`]);
  const body = '{"title":"a","body":"b"}'.padEnd(length);
  const sent = Array.from({ length: fits + 1 }, () => converse(service, head, body.slice(0, -1)));
  const conversations = await Promise.all(sent);
  const pending = conversations.map(({ answer }) => answer());
  const refusal = await Promise.race(pending);
  assert.equal(
    assertProblem(refusal, 'service-unavailable').detail,
    'Too many large bodies are arriving.',
  );
  assert.equal(refusal.headers['retry-after'], '1');
  assert.equal((await service.request('GET', '/health')).status, 200);
  assert.equal(
    (await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status,
    201,
  );

  for (const { socket } of conversations) socket.write(' ');
  const statuses = (await Promise.all(pending)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([201, 503]));
  // A refused body counts until it is answered, so that more than one may be refused.
  assert.ok(statuses.filter((status) => status === 503).length < 5, String(statuses));
  assert.equal((await service.request('POST', '/notes', { body })).status, 201);
  for (const { socket } of conversations) socket.destroy();
}
