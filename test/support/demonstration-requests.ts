// Valid requests for the demonstrations, and the client that sends them.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** The members of a request, each as JSON text. */
export type Members = Readonly<Record<string, string>>;

/** A small valid request for each demonstration, by path. */
export const TAKEN: Readonly<Record<string, Members>> = {
  '/counter/increment': { workers: '1', count: '1' },
  '/semaphore/run': { task_ids: '[1]', concurrency_limit: '1' },
  '/event/sync': { payload: '"a"' },
  '/pool/run': { items: '["a"]', max_workers: '1' },
  '/producer-consumer/run': { items: '["a"]', num_consumers: '1', queue_size: '1' },
  '/thread-local/run': { items: '["a"]', context_key: '"k"' },
};

/** Runs a demonstration that must succeed; returns its answer. */
export async function run(service: Service, path: string, json: object): Promise<Answer['json']> {
  const answer = await service.request('POST', path, { json });
  assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 500)}`);
  assert.equal(answer.headers['content-type'], 'application/json');
  return answer.json;
}

/** Returns `count` different items. */
export function numbered(count: number, name = 'item'): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index}`);
}
