// Which changes a client selects, what their records have, where it begins, and in which form.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_LOOKED_AT, PLACE_LIMITS } from '../../../src/changes/changes.ts';
import { STREAM_TIMES } from '../../../src/changes/feature.ts';
import { openPath, withNumbers } from '../../support/databases.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { openStream } from '../../support/event-stream.ts';
import { setLimits } from '../../support/overload.ts';
import { linkTo } from '../../support/page-checks.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

type Change = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

/** Creates three notes, of which two have a tag, and a comment; resolves with the first cursor. */
async function fill({ request }: Target): Promise<string> {
  const { next } = (await request('GET', '/changes')).json;
  const note = (title: string, tags: string[]) => ({ json: { title, body: 'b', tags } });
  await request('PUT', '/named/diary', note('first', ['urgent', 'home']));
  await request('POST', '/notes', note('second', ['home']));
  await request('POST', '/notes', note('third', ['urgent']));
  await request('POST', '/notes/1/comments', { json: { body: 'c' } });
  await request('PATCH', '/notes/2', { json: { title: 'other' } });
  await request('DELETE', '/notes/3/tags/1');
  return next;
}

const typesOf = (items: readonly Change[]) =>
  items.map(({ type, note_id, tag_id }) => `${type} ${note_id ?? tag_id}`);

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('changes: only those of some types, or of notes with tags', async (t) => {
      const service = await start(t);
      const since = await fill(service);
      const ask = async (query: string) => {
        const { status, json } = await service.request('GET', `/changes?since=${since}&${query}`);
        assert.deepEqual([status, json.more], [200, false], query);
        return typesOf(json.items);
      };
      const created = ['note.created 1', 'note.created 2', 'note.created 3'];
      assert.deepEqual(await ask('type=note.created'), created);
      assert.deepEqual(await ask('type=tag.created,comment.created&type=note.updated'), [
        ...['tag.created 1', 'tag.created 2', 'comment.created 1', 'note.updated 2'],
      ]);
      assert.deepEqual(await ask('type=note.deleted'), []);
      assert.deepEqual(await ask('tag=urgent'), [
        ...['note.created 1', 'note.tagged 1', 'note.tagged 1'],
      ]);
      assert.deepEqual(await ask('tag=home&type=note.updated'), ['note.updated 2']);
      assert.deepEqual(await ask('tag=home&tag=urgent&type=note.created'), ['note.created 1']);
      assert.deepEqual(await ask('tag=none'), []);
      const { json } = await service.request('GET', `/changes?since=${since}&tag=home&limit=2`);
      const rest = await service.request('GET', `/changes?since=${json.next}&tag=home`);
      const all = (await service.request('GET', `/changes?since=${since}&tag=home`)).json.items;
      assert.deepEqual([...json.items, ...rest.json.items], all);
    });

    test('changes: an id is the tag of the record that was made', async (t) => {
      const service = await start(t);
      const since = await fill(service);
      const path = `/changes?since=${since}&include=record,etag`;
      const { items } = (await service.request('GET', path)).json;
      const last = new Map<string, Change>();
      for (const each of items as Change[])
        if (/created|updated/.test(each.type))
          last.set(each.type.split('.')[0] + JSON.stringify(Object(each.record).id), each);
      assert.equal(last.size, 6);
      for (const { id, record } of last.values()) assert.equal(Object(record).etag, `"${id}"`);
    });

    test('changes: records have the members that lists have', async (t) => {
      const service = await start(t);
      const since = await fill(service);
      const include = 'tags,tag_ids,times,etag,name,notes_count';
      const path = `/changes?since=${since}&include=record,${include}&fields=title,name`;
      const { items } = (await service.request('GET', path)).json;
      for (const [type, list, added] of [
        ['note', '/notes?include=tags,tag_ids,times,etag,name&fields=title', 7],
        ['tag', '/tags?include=times,etag,notes_count&fields=name', 5],
        ['comment', '/notes/1/comments?include=times,etag', 5],
      ] as const) {
        const listed = (await service.request('GET', list)).json.items;
        const created = items.filter((each: Change) => each.type === `${type}.created`);
        assert.equal(created.length, listed.length);
        const without = ({ id: _, note_id: __, body: ___, ...rest }: Change) => rest;
        for (const [index, { record }] of created.entries()) {
          assert.deepEqual(record, without(listed[index]));
          assert.ok(Object.keys(record).length >= added - 2);
        }
      }
      for (const query of ['include=tags', 'include=etag,name', 'fields=id'])
        assert.equal(
          (await service.request('GET', `/changes?since=${since}&${query}`)).json.errors[0].code,
          'dependentRequired',
        );
    });
  });

test('changes: a stream and lines select, too', async (t) => {
  const service = await startService(t);
  const since = await fill(service);
  const path = `/changes?since=${since}&type=note.created&limit=2`;
  const headers = { accept: 'application/x-ndjson' };
  const { json } = await service.request('GET', path);
  const page = await service.request('GET', path, { headers });
  const type = page.headers['content-type'];
  assert.deepEqual([type, page.headers.vary], ['application/x-ndjson', 'accept']);
  const text = json.items.map((each: Change) => `${JSON.stringify(each)}\n`).join('');
  assert.equal(page.text, text);
  const next = String(linkTo('next', page.headers.link, service.url));
  const rest = await service.request('GET', next, { headers });
  assert.equal(JSON.parse(rest.text).note_id, 3);
  const end = await service.request('GET', String(linkTo('next', rest.headers.link, service.url)), {
    headers,
  });
  assert.equal(end.text, '');
  const both = { accept: 'text/event-stream, application/x-ndjson' };
  const mixed = await service.request('GET', path, { headers: both });
  assert.equal(mixed.headers['content-type'], 'application/json');

  setLimits(t, STREAM_TIMES, { commentMs: 20 });
  const stream = await openStream(t, service.url, `/changes?since=${since}&type=note.deleted`);
  // What is not selected moves the cursor, so that it does not expire.
  const last = (await service.request('GET', '/changes')).json.next;
  await until(() => stream.text().includes(`id: ${last}\n\n:\n`));
  await service.request('DELETE', '/notes/2');
  assert.deepEqual(typesOf((await stream.changes(1)) as Change[]), ['note.deleted 2']);
});

test('changes: a waiting client hears only of what it has selected', async (t) => {
  const service = await startService(t);
  const since = await fill(service);
  // More others than one read looks at.
  const database = await openPath(service.file);
  t.after(() => database.close());
  const sql = `${withNumbers(MAX_LOOKED_AT)}
    INSERT INTO changes (type, id) SELECT 'tag.deleted', n FROM numbers`;
  await database.transact([{ sql }]);
  const { json } = await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  const path = `/changes?since=${since}&type=note.created&include=record`;
  const { items } = (await service.request('GET', path)).json;
  assert.equal(items.length, 3);
  const later = await service.request('GET', `${path}&limit=4`.replace(since, items.at(-1)?.id));
  assert.deepEqual(later.json.items[0]?.record, json);
  const waiting = service.request('GET', `/changes?since=${since}&type=note.deleted&wait=30`);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  await service.request('DELETE', '/notes/1');
  assert.deepEqual(typesOf((await waiting).json.items), ['note.deleted 1']);
});

test('changes: from a time on', async (t) => {
  const service = await startService(t);
  await fill(service);
  const database = await openPath(service.file);
  t.after(() => database.close());
  const set = (sql: string) => database.transact([{ sql }]);
  const idsSince = async (since: string) => {
    const { status, json } = await service.request('GET', `/changes?since=${since}`);
    return status === 200 ? json.items.map(({ id }: Change) => Number(id.split('-')[1])) : status;
  };
  // The clock was set back once, and another program has left out a time.
  await set('UPDATE changes SET at = 1000 * number');
  await set('UPDATE changes SET at = iif(number = 5, 2500, NULL) WHERE number IN (5, 7)');
  const all = (await idsSince('1970-01-01T00:00:00Z')) as number[];
  const from = (first: number) => all.filter((number) => number >= first);
  assert.equal(all[0], 1);
  // One read looks at some of the log, and the next one goes on.
  for (const lookedAt of [1, 2, PLACE_LIMITS.lookedAt]) {
    setLimits(t, PLACE_LIMITS, { lookedAt });
    assert.deepEqual(await idsSince('1970-01-01T00:00:03Z'), from(3));
    assert.deepEqual(await idsSince('1970-01-01T01:00:02.000%2B01:00'), from(2));
    assert.deepEqual(await idsSince('1970-01-01T00:00:02.0000001Z'), from(3));
    assert.deepEqual(await idsSince('1970-01-01T00:00:06.5Z'), from(8));
    assert.deepEqual(await idsSince('2999-01-01T00:00:00Z'), []);
  }
  for (const wrong of ['1970-02-30T00:00:00Z', '1970-01-01', '1970-01-01T24:00:00Z', 'now'])
    assert.equal(await idsSince(wrong), 422, wrong);
  const stream = await openStream(t, service.url, '/changes?since=1970-01-01T00:00:09Z');
  const [first] = await stream.changes(1);
  assert.match(String(first?.id), /-9$/);
  // After a restore, the log begins later: what was before its first change is not known.
  await set('UPDATE notes_server_generation SET first = 4');
  assert.equal(await idsSince('1970-01-01T00:00:02.5Z'), 410);
  const { json } = await service.request('GET', '/changes?since=1970-01-01T00:00:02.5Z');
  assert.equal(json.detail, 'The log no longer has all changes since then.');
  assert.deepEqual(await idsSince('1970-01-01T00:00:02.501Z'), from(6));
  setLimits(t, PLACE_LIMITS, { lookedAt: 1 });
  assert.deepEqual(await idsSince('1970-01-01T00:00:08.5Z'), from(9));
});
