// A thousand clients, waiting times beyond the limit, and large bodies up to the real limit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DISPATCH_LIMITS } from '../../src/http/limits.ts';
import { BATCH_LIMITS } from '../../src/storage/batches/backlog-limit.ts';
import {
  assertOverloaded,
  DATABASE_REQUESTS,
  overfillWithBodies,
  setLimits,
} from '../support/overload.ts';
import { converse, requestText } from '../support/raw.ts';
import { startService } from '../support/service.ts';

test('overload: 1,000 simultaneous clients are all answered', async (t) => {
  const service = await startService(t);
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, () => service.request('GET', '/notes')),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

for (const [line, body, status] of DATABASE_REQUESTS) {
  test(`overload: of 64 ${line} some are refused, others served`, async (t) => {
    setLimits(t, BATCH_LIMITS, { guaranteedItems: 2, waitMs: 0, burstItems: 0 });
    setLimits(t, DISPATCH_LIMITS, { heldBackMs: 400 });
    const service = await startService(t);
    assert.equal(
      (await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status,
      201,
    );
    const text = requestText(line, [], body);
    const round = async () => {
      const conversations = await Promise.all(
        Array.from({ length: 64 }, () => converse(service, text.slice(0, -1))),
      );
      const answers = conversations.map(({ socket, answer }) => {
        socket.write(text.slice(-1));
        return answer();
      });
      assert.equal((await service.request('GET', '/health')).status, 200);
      const all = await Promise.all(answers);
      for (const { socket } of conversations) socket.destroy();
      return all;
    };
    // On a busy machine the requests may arrive so slowly that none waits for another.
    let all = await round();
    for (let left = 20; left > 0 && all.every((answer) => answer.status === status); left -= 1)
      all = await round();
    const refused = all.filter((answer) => answer.status !== status);
    assert.ok(refused.length > 0 && refused.length < 63, String(refused.length));
    for (const answer of refused) assertOverloaded(answer);
  });
}

test('overload: large bodies of 64 MiB together', async (t) =>
  overfillWithBodies(await startService(t), 1_000_000));
