// Requests of concurrent clients that share a batch.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';
import { whileLocked } from './stored-data.ts';

/** Fewer than the connections that a test has to the service. */
export const IN_ONE_BATCH = 60;

/** Calls `work` so often at once; resolves with the results. */
export function times<Result>(
  count: number,
  work: (index: number) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/** Resolves with the answers to `count` requests that share a batch: all wait behind a write. */
export async function together(
  service: Service,
  count: number,
  send: (index: number) => Promise<Answer>,
): Promise<Answer[]> {
  assert.ok(count < IN_ONE_BATCH);
  const waiting = await whileLocked(service.file, async () => {
    const first = service.request('DELETE', '/tags/0');
    const answers = times(count, send);
    assert.equal((await service.request('GET', '/tags/0')).status, 404);
    return { first, answers };
  });
  assert.equal((await waiting.first).status, 404);
  return waiting.answers;
}

/** Creates the notes 1 to `count`. */
export async function createNotes(service: Service, count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    const json = { title: `note ${id}`, body: `note ${id}` };
    await service.request('POST', '/notes', { json });
  }
}

/** The status and detail of the answer where a record is missing. */
export function missing(label: string, id: number): [status: number, detail: string] {
  return [404, `${label} with ID ${id} was not found.`];
}
