// What has changed since a cursor: pages in JSON, and streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STREAM_TIMES } from '../../../src/changes/feature.ts';
import { openStream } from '../../support/event-stream.ts';
import { request, send } from '../../support/http.ts';
import { setLimits } from '../../support/overload.ts';
import { type Service, startService } from '../../support/service.ts';
import { lines } from '../../support/tagged-notes.ts';
import { until } from '../../support/until.ts';

const NOTE = { json: { title: 'a', body: 'b' } };

async function cursorOf({ request }: Service): Promise<string> {
  return (await request('GET', '/changes')).json.next;
}

async function changeAll({ request }: Service): Promise<void> {
  await request('POST', '/notes', NOTE);
  await request('POST', '/tags', { json: { name: 't' } });
  await request('POST', '/notes/1/comments', { json: { body: 'c' } });
  await request('PUT', '/notes/1/tags/1');
  await request('PATCH', '/notes/1', { json: { body: 'd' } });
  await request('DELETE', '/notes/1/tags/1');
  await request('PATCH', '/notes/1/comments/1', { json: { body: 'e' } });
  await request('DELETE', '/tags/1');
  await request('DELETE', '/notes/1');
}

const KINDS = [
  { type: 'note.created', note_id: 1 },
  { type: 'tag.created', tag_id: 1 },
  { type: 'comment.created', note_id: 1, comment_id: 1 },
  { type: 'note.tagged', note_id: 1, tag_id: 1 },
  { type: 'note.updated', note_id: 1 },
  { type: 'note.untagged', note_id: 1, tag_id: 1 },
  { type: 'comment.updated', note_id: 1, comment_id: 1 },
  { type: 'tag.deleted', tag_id: 1 },
  { type: 'comment.deleted', note_id: 1, comment_id: 1 },
  { type: 'note.deleted', note_id: 1 },
];

/** Returns {@link KINDS} with their ids after the cursor `start`. */
function kindsAfter(start: string) {
  const [generation, number] = start.split('-');
  return KINDS.map((each, index) => ({
    id: `${generation}-${Number(number) + index + 1}`,
    ...each,
  }));
}

/** Returns changes without their times, which must be after `begun`; by default, of this test. */
function untimed(
  changes: readonly Readonly<Record<string, unknown>>[] | undefined,
  begun = new Date(Date.now() - 60_000).toISOString(),
) {
  assert.ok(changes, 'an answer with changes');
  const ended = new Date().toISOString();
  return changes.map(({ at, ...rest }) => {
    assert.ok(begun <= String(at) && String(at) <= ended, `${at} between ${begun} and ${ended}`);
    return rest;
  });
}

test('changes: without a cursor, the current one', async (t) => {
  const service = await startService(t);
  const { status, headers, json } = await service.request('GET', '/changes?wait=30&limit=1');
  assert.equal(status, 200);
  assert.deepEqual(
    [headers['content-type'], headers['cache-control'], headers.vary],
    ['application/json', 'no-store', 'accept'],
  );
  assert.match(json.next, /^[0-9a-f]{8}-0$/);
  assert.deepEqual([json.items, json.more], [[], false]);
  await service.request('POST', '/notes', NOTE);
  assert.equal(await cursorOf(service), json.next.replace('-0', '-1'));
});

test('changes: pages in order along their links, each change once', async (t) => {
  const service = await startService(t, { baseUrl: 'https://example.org/api' });
  const kept = 'include=&limit=3&wait=0';
  const before = await service.request('GET', `/changes?${kept}`);
  let { link } = before.headers;
  let since = String(before.json.next);
  const begun = new Date().toISOString();
  await changeAll(service);
  const all = kindsAfter(since);
  const whole = (await service.request('GET', `/changes?since=${since}`)).json;
  assert.deepEqual(untimed(whole.items, begun), all);
  assert.deepEqual([whole.next, whole.more], [all.at(-1)?.id, false]);
  for (let first = 0; first < all.length + 3; first += 3) {
    assert.equal(link, `<https://example.org/api/changes?${kept}&since=${since}>; rel="next"`);
    const { headers, json } = await service.request('GET', `/changes?${kept}&since=${since}`);
    const items = whole.items.slice(first, first + 3);
    const next = items.at(-1)?.id ?? since;
    assert.deepEqual(json, { items, next, more: first + 3 < all.length });
    since = next;
    link = headers.link;
  }
});

test('changes: the current record of each', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  const note = (await service.request('POST', '/notes', NOTE)).json;
  const comment = (
    await service.request('POST', '/notes/1/comments', { json: { body: '\n' + 'c' } })
  ).json;
  const tag = (await service.request('POST', '/tags', { json: { name: 't' } })).json;
  await service.request('PUT', '/notes/1/tags/1');
  const { json } = await service.request('GET', `/changes?since=${start}&include=record`);
  assert.deepEqual(
    json.items.map(({ record }: { record: unknown }) => record),
    [note, comment, tag, note],
  );
  await service.request('DELETE', '/notes/1');
  const later = await service.request('GET', `/changes?since=${start}&include=record&limit=3`);
  assert.deepEqual(
    later.json.items.map(({ record }: { record: unknown }) => record),
    [null, null, tag],
  );
});

test('changes: an empty answer waits until something changes', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  const waiting = [1, 2].map(() => service.request('GET', `/changes?since=${start}&wait=30`));
  await service.request('POST', '/notes', NOTE);
  for (const { json } of await Promise.all(waiting))
    assert.deepEqual(untimed(json.items), kindsAfter(start).slice(0, 1));
  const since = await cursorOf(service);
  const { json } = await service.request('GET', `/changes?since=${since}&wait=1`);
  assert.deepEqual(json, { items: [], next: since, more: false });
});

test('changes: a stop answers those who wait', { timeout: 20_000 }, async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  const waiting = request(service.url, 'GET', `/changes?since=${start}&wait=30`);
  const streams = await Promise.all([1, 2].map(() => openStream(t, service.url)));
  await service.close();
  assert.deepEqual((await waiting).json.items, []);
  await until(() => streams.every(({ hasEnded }) => hasEnded()));
});

test('changes: malformed, foreign and expired cursors', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  for (const since of ['', 'x', '1', 'ABCDEF01-1', `${start}x`, `${start}0000000000000000`])
    assert.equal((await service.request('GET', `/changes?since=${since}`)).status, 422, since);
  const foreign = start.startsWith('0') ? `1${start.slice(1)}` : `0${start.slice(1)}`;
  for (const since of [foreign, start.replace('-0', '-7')]) {
    for (const accept of ['application/json', 'text/event-stream']) {
      const headers = { accept };
      const answer = await service.request('GET', `/changes?since=${since}`, { headers });
      assert.equal(answer.status, 410);
      assert.match(answer.json.type, /\/problems\/cursor-expired$/);
    }
  }
  const headers = { accept: 'text/event-stream', 'last-event-id': 'x' };
  const { status, json } = await service.request('GET', '/changes', { headers });
  const detail = 'The header last-event-id must be the id of an event.';
  assert.deepEqual([status, json.detail], [400, detail]);
  for (const query of ['limit=0', 'limit=1001', 'wait=-1', 'wait=31', 'include=x', 'wait=1.5'])
    assert.equal((await service.request('GET', `/changes?${query}`)).status, 422, query);
});

test('changes: a stream of server-sent events', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  const stream = await openStream(t, service.url);
  const { headers } = stream;
  assert.deepEqual(
    [headers['content-type'], headers['cache-control'], headers.vary, headers['x-accel-buffering']],
    ['text/event-stream', 'no-store', 'accept', 'no'],
  );
  assert.equal(headers['content-length'], undefined);
  await until(() => stream.text().endsWith('\n\n'));
  assert.equal(stream.text(), `: changes\nretry: 3000\nid: ${start}\n\n`);
  assert.equal(stream.retryMs(), 3_000);
  await changeAll(service);
  const changes = await stream.changes(KINDS.length);
  assert.deepEqual(untimed(changes), kindsAfter(start));
  const [first] = changes;
  const event = `id: ${first?.id}\nevent: note.created\ndata: ${JSON.stringify(first)}\n\n`;
  assert.ok(stream.text().includes(event));
});

test('changes: a stream continues after last-event-id or since', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  await changeAll(service);
  const all = kindsAfter(start);
  const [, second, third] = all;
  const since = `/changes?since=${second?.id}&limit=1&wait=0`;
  const stream = await openStream(t, service.url, since);
  assert.deepEqual(untimed(await stream.changes(8)), all.slice(2));
  // Some libraries take an id without data for an event.
  assert.ok(stream.text().startsWith(`: changes\nretry: 3000\nid: ${third?.id}\nevent: `));
  const again = await openStream(t, service.url, since, { 'last-event-id': String(third?.id) });
  assert.deepEqual(untimed(await again.changes(7)), all.slice(3));
  // Some libraries send an empty one until they have received an event.
  const first = await openStream(t, service.url, since, { 'last-event-id': '' });
  assert.deepEqual(untimed(await first.changes(8)), all.slice(2));
  const now = await openStream(t, service.url, '/changes', { 'last-event-id': '' });
  await until(() => now.text().includes(`id: ${all.at(-1)?.id}\n`));
  const records = await openStream(t, service.url, `/changes?since=${start}&include=record`);
  assert.deepEqual(untimed(await records.changes(2))[1], { ...all[1], record: null });
});

test('changes: a stream of many changes', async (t) => {
  const service = await startService(t);
  const start = await cursorOf(service);
  const parts = lines(...Array(500).fill({ name: 't' }));
  for (let round = 0; round < 5; round += 1)
    assert.equal((await service.request('POST', '/tags', parts)).status, 201);
  const stream = await openStream(t, service.url, `/changes?since=${start}`);
  const changes = await stream.changes(2_500);
  assert.deepEqual(
    changes.map(({ tag_id: id }) => id),
    Array.from({ length: 2_500 }, (_, index) => index + 1),
  );
});

test('changes: comments while nothing happens', async (t) => {
  setLimits(t, STREAM_TIMES, { commentMs: 20 });
  const service = await startService(t);
  const stream = await openStream(t, service.url);
  await until(() => stream.comments.length > 3);
  // No empty line, which some libraries take for an event.
  assert.match(stream.text(), /^: changes\nretry: 3000\nid: .*\n\n(?::\n)+$/);
  assert.equal(stream.events.length, 0);
  await service.request('POST', '/notes', NOTE);
  await stream.changes(1);
});

test('changes: JSON unless events are preferred', async (t) => {
  const service = await startService(t);
  for (const [accept, type] of [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/*', 'application/json'],
    ['application/json, text/event-stream;q=0.5', 'application/json'],
    ['text/event-stream;q=0', 'application/json'],
    ['text/event-stream;q=0.5, */*', 'application/json'],
    // Generated clients name what an operation can answer, and expect JSON.
    ['application/json, text/event-stream, application/problem+json', 'application/json'],
    ['text/event-stream, application/json', 'application/json'],
    ['text/event-stream;q=0.9, application/json;charset=utf-8;q=0.9', 'application/json'],
    ['text/event-stream, application/*', 'application/json'],
    ['text/event-stream, */*', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['text/event-stream, application/json;q=0', 'text/event-stream'],
    ['text/event-stream;q=0.5, application/json;q=0, */*', 'text/event-stream'],
    ['Text/Event-Stream, */*;q=0.1', 'text/event-stream'],
    ['application/json;q=0.5, text/event-stream', 'text/event-stream'],
  ] as const) {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    // The head of a stream has no end to wait for.
    const answer = await send(service.url, 'HEAD', '/changes', { headers });
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, type], accept);
    assert.equal(answer.text, '');
  }
});
