// Writes notes with tags, and asserts the status of each answer.
import assert from 'node:assert/strict';
import type { Target } from './deployments.ts';
import type { RequestParts } from './http.ts';

/** A note without tags. */
export const NOTE = { title: 'a', body: 'b' };

/** Returns a bulk request that creates these records. */
export const lines = (...records: object[]): RequestParts => ({
  body: records.map((each) => JSON.stringify(each)).join('\n'),
  headers: { 'content-type': 'application/x-ndjson' },
});

/** Resolves with the ids of the tags of a note. */
export async function tagsOf(service: Pick<Target, 'request'>, note: number): Promise<number[]> {
  return (await service.request('GET', `/notes/${note}?include=tag_ids`)).json.tag_ids;
}

/** Returns functions that send requests to `service` and assert the status of their answers. */
export function clientOf(service: Pick<Target, 'request'>) {
  const send = async (method: string, path: string, status: number, parts: RequestParts = {}) => {
    const answer = await service.request(method, path, parts);
    assert.equal(answer.status, status, `${method} ${path} ${answer.text}`);
    return answer;
  };
  return {
    send,
    state: async () => (await send('HEAD', '/notes', 200)).headers.etag,
    etagOf: async (note: number) => (await send('HEAD', `/notes/${note}`, 200)).headers.etag,
    post: (parts: RequestParts, status = 201) => send('POST', '/notes', status, parts),
  };
}
