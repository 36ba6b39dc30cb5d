// A service whose disk is full.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';
import { assertUnavailable, isHealthy } from './storage-faults.ts';
import { assertSound } from './stored-data.ts';

/** A service with little room, and a function that makes room. */
export interface Cramped {
  readonly service: Service;
  readonly makeRoom: () => unknown;
}

/** Asserts that without room writes are 503 and reads go on, and that all works afterwards. */
export async function runOutOfRoom({ service, makeRoom }: Cramped): Promise<void> {
  const kept: Answer[] = [];
  const post = () =>
    service.request('POST', '/notes', { json: { title: 'a', body: 'x'.repeat(30_000) } });

  let refused: Answer | undefined;
  for (let count = 0; count < 100 && !refused; count += 1) {
    const answer = await post();
    if (answer.status === 201) kept.push(answer);
    else refused = answer;
  }
  assertUnavailable(refused ?? assert.fail('the disk did not fill'));
  assert.ok(kept.length > 3);
  // Larger than the refused one: something small might still fit.
  const larger = service.request('PUT', '/notes/1', {
    json: { title: 'lost', body: 'x'.repeat(100_000) },
  });
  for (const answer of await Promise.all([post(), post(), larger, post()]))
    assertUnavailable(answer);
  for (const { headers, text } of kept) {
    assert.equal((await service.request('GET', String(headers.location))).text, text);
  }
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
  // Out of rotation, it could serve no reads.
  assert.equal((await service.request('GET', '/readyz')).status, 200);
  await assertSound(service.file);

  await makeRoom();
  assert.equal((await post()).status, 201);
  assert.equal((await service.request('DELETE', '/notes/1')).status, 204);
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
  assert.ok(await isHealthy(service));
  await assertSound(service.file);
}
