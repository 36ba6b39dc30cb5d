// What changes nothing is no change: it answers as ever, and leaves tags, times, versions, events.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { callTool } from '../../support/assistants.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';

const NOTE = { title: 'Title', body: 'first line\nsecond' };
const MARKDOWN = { 'content-type': 'text/markdown' };

type Request = Target['request'];
type Write = (request: Request, etag: string) => Promise<{ status: number; text: string }>;

/** Each write of note 1, named "n", with the tag "a" (1), that leaves it as it is. */
const WRITES: Readonly<Record<string, Write>> = {
  'PUT in JSON': (request) => request('PUT', '/notes/1', { json: NOTE }),
  'PUT under a condition': (request, etag) =>
    request('PUT', '/notes/1', { json: NOTE, headers: { 'if-match': etag } }),
  'PUT with its tags by name': (request) =>
    request('PUT', '/notes/1', { json: { ...NOTE, tags: ['a'] } }),
  'PUT with its tags by id': (request) =>
    request('PUT', '/notes/1', { json: { ...NOTE, tag_ids: [1] } }),
  'PUT as a text': (request) =>
    request('PUT', '/notes/1?title=Title', { body: NOTE.body, headers: MARKDOWN }),
  'PATCH of all members': (request) => request('PATCH', '/notes/1', { json: NOTE }),
  'PATCH of one': (request) => request('PATCH', '/notes/1', { json: { body: NOTE.body } }),
  'PATCH of one, with its tags': (request) =>
    request('PATCH', '/notes/1', { json: { title: NOTE.title, tags: ['a'] } }),
  'PATCH of its tags': (request) => request('PATCH', '/notes/1', { json: { tag_ids: [1] } }),
  'PATCH of its name': (request) => request('PATCH', '/notes/1', { json: { name: 'n' } }),
  'PATCH of its name, its tags and members': (request) =>
    request('PATCH', '/named/n', { json: { ...NOTE, tags: ['a'], name: 'n' } }),
  'PATCH of single tags': (request) =>
    request('PATCH', '/notes/1', { json: { add_tags: ['a'], remove_tags: ['b', 'c'] } }),
  'PATCH of no tags': (request) =>
    request('PATCH', '/named/n', { json: { add_tags: [], remove_tags: null } }),
  'PUT at its name': (request) => request('PUT', '/named/n', { json: NOTE }),
  'PUT at its name, as a text': (request) =>
    request('PUT', '/named/n?title=Title', { body: NOTE.body, headers: MARKDOWN }),
  'PATCH at its name': (request) => request('PATCH', '/named/n', { json: NOTE }),
  'an append of nothing': (request) => request('POST', '/notes/1/append', { json: { text: '' } }),
  'an edit by the same text': (request) =>
    request('POST', '/notes/1/edit', { json: { old_text: 'first', new_text: 'first' } }),
  'an edit with a key': (request) =>
    request('POST', '/named/n/edit', {
      json: { old_text: 'line', new_text: 'line' },
      headers: { 'idempotency-key': '"k"' },
    }),
  'a tag that it has': (request) => request('PUT', '/notes/1/tags/1'),
  'a tool of assistants': async (request, etag) => {
    const { text } = await callTool({ request }, 'update_note', { id: 1, ...NOTE, etag });
    return { status: 200, text };
  },
  'PUT of the comment': (request) => request('PUT', '/notes/1/comments/1', { json: COMMENT }),
  'PATCH of the comment': (request) => request('PATCH', '/notes/1/comments/1', { json: COMMENT }),
  'PUT of the tag': (request) => request('PUT', '/tags/1', { json: { name: 'a' } }),
};

const COMMENT = { body: 'a comment' };

/** What a change would have changed. */
async function stateOf(request: Request): Promise<unknown[]> {
  const reads = ['/notes/1?include=times,tags', '/notes/1/comments/1', '/tags/1', '/changes'].map(
    (path) => request('GET', path),
  );
  const lists = ['/notes', '/tags', '/notes/1/comments', '/notes/1/versions'].map((path) =>
    request('GET', path),
  );
  const answers = await Promise.all([...reads, ...lists]);
  return answers.map(({ text, headers }) => [text, headers.etag]);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('no change: each write that leaves a record as it is, alone and at once', async (t) => {
      const { request } = await start(t);
      const created = { ...NOTE, body: 'before', tags: ['a'] };
      assert.equal((await request('PUT', '/named/n', { json: created })).status, 201);
      await request('POST', '/notes/1/comments', { json: COMMENT });
      const { headers } = await request('PUT', '/notes/1', { json: NOTE });
      const etag = String(headers.etag);
      const before = await stateOf(request);
      for (const [name, write] of Object.entries(WRITES)) {
        const answers = [await write(request, etag)];
        answers.push(...(await Promise.all([1, 2, 3].map(() => write(request, etag)))));
        for (const { status, text } of answers)
          assert.ok(status === 200 || status === 204, `${name}: ${status} ${text}`);
        assert.deepEqual(await stateOf(request), before, name);
      }
    });

    test('no change: the second of two equal writes in a batch changes nothing', async (t) => {
      const { request } = await start(t);
      await request('POST', '/notes', { json: NOTE });
      const since = (await request('GET', '/changes')).json.next;
      const json = { title: 'new', body: 'text' };
      const puts = await Promise.all(
        Array.from({ length: 8 }, () => request('PUT', '/notes/1', { json })),
      );
      assert.deepEqual(new Set(puts.map(({ status }) => status)), new Set([200]));
      assert.equal(new Set(puts.map(({ headers }) => headers.etag)).size, 1);
      const { json: feed } = await request('GET', `/changes?since=${since}`);
      assert.deepEqual(
        feed.items.map(({ type }: { type: string }) => type),
        ['note.updated'],
      );
      // Conditions are checked first.
      const stale = { 'if-match': '"00000000-1"' };
      assert.equal((await request('PUT', '/notes/1', { json, headers: stale })).status, 412);
    });

    test('no change: writes that change something or nothing, at once, lose nothing', async (t) => {
      const { request } = await start(t);
      await request('POST', '/notes', { json: NOTE });
      const since = (await request('GET', '/changes')).json.next;
      const bodies = ['a', 'b', NOTE.body];
      const puts = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const json = { ...NOTE, body: bodies[index % bodies.length] };
          return request('PUT', '/notes/1', { json });
        }),
      );
      for (const [index, { status, json }] of puts.entries())
        assert.deepEqual([status, json.body], [200, bodies[index % bodies.length]]);
      const { json: feed } = await request('GET', `/changes?since=${since}&include=record`);
      const read = await request('GET', '/notes/1');
      assert.equal(feed.items.at(-1).record.body, read.json.body);
    });
  });
