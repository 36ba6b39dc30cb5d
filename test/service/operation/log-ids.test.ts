// The ids of tags that a note creates by name, in the log line of the write. The games of
// test/support/tagging-games.ts check those of writes at the same time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterAddress } from '../../support/engine.ts';
import type { Answer, RequestParts } from '../../support/http.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type Service, startService } from '../../support/service.ts';
import { lines, NOTE } from '../../support/tagged-notes.ts';

/** Returns the ids in the log line of the request with this answer. */
function idsOf({ log }: Service, { headers }: Answer): Readonly<Record<string, unknown>> {
  const found = log.find(({ fields }) => fields.request_id === headers['x-request-id']);
  return found?.fields.ids as Readonly<Record<string, unknown>>;
}

async function checkWrites(service: Service): Promise<void> {
  const write = async (method: string, path: string, parts: RequestParts) =>
    idsOf(service, await service.request(method, path, parts));
  const tagged = (...tags: string[]) => ({ json: { ...NOTE, tags } });
  const keyed = (json: object) => ({ json, headers: { 'idempotency-key': 'k' } });
  for (const [method, path, parts, ids] of [
    ['POST', '/notes', tagged('a'), { note_id: 1, tag_id: 1 }],
    ['POST', '/notes', tagged('b', 'a', 'c'), { note_id: 2, tag_id: [2, 3] }],
    ['POST', '/notes', tagged('c', 'a'), { note_id: 3 }],
    [
      'POST',
      '/notes',
      lines({ ...NOTE, tags: ['d', 'a'] }, NOTE, { ...NOTE, tags: ['e', 'd', 'f'] }),
      { note_id: [4, 6], tag_id: [4, 6] },
    ],
    ['POST', '/notes', lines({ ...NOTE, tags: ['g'] }), { note_id: 7, tag_id: 7 }],
    ['PUT', '/notes/2', tagged('h', 'a'), { note_id: 2, tag_id: 8 }],
    ['PUT', '/notes/2', tagged('a', 'h'), { note_id: 2 }],
    ['PATCH', '/notes/2', { json: { tags: ['i', 'j'] } }, { note_id: 2, tag_id: [9, 10] }],
    ['GET', '/notes/2', {}, undefined],
    ['PATCH', '/notes/2', { json: {} }, { note_id: 2 }],
    ['PATCH', '/notes/2', { json: { title: 'c', tags: ['k'] } }, { note_id: 2, tag_id: 11 }],
    ['PATCH', '/notes/2', { json: { tags: [] } }, { note_id: 2 }],
    ['PUT', '/notes/99', tagged('l'), undefined],
    ['POST', '/notes', lines({ ...NOTE, tags: ['l'] }, { ...NOTE, tag_ids: [99] }), undefined],
    ['POST', '/notes', keyed({ ...NOTE, tags: ['l'] }), { note_id: 8, tag_id: 12 }],
    ['DELETE', '/tags/12', {}, { tag_id: 12 }],
    // The name is new again, but a repeated request creates nothing.
    ['POST', '/notes', keyed({ ...NOTE, tags: ['l'] }), { note_id: 8 }],
    ['POST', '/notes', keyed({ ...NOTE, tags: ['m'] }), undefined],
    ['POST', '/notes', tagged('l'), { note_id: 9, tag_id: 13 }],
  ] as const)
    assert.deepEqual(await write(method, path, parts), ids, `${method} ${JSON.stringify(parts)}`);
}

for (const [deployment, start] of Object.entries({
  'the database of the tests': startService,
  'the stand-in of a cluster': async (test: Parameters<typeof startService>[0]) =>
    startService(test, { db: clusterAddress((await startStandIn(test)).nodes) }),
})) {
  test(`log: the ids of tags that a write has created by name, ${deployment}`, async (t) =>
    checkWrites(await start(t)));
}
