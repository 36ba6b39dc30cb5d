// The trash and the versions of notes over HTTP: what is kept, restored and erased.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ERASURE_TIMES, IS_LEFT } from '../../../src/history/erasure.ts';
import { keepFor } from '../../../src/history/feature.ts';
import { RETENTION_TIMES } from '../../../src/history/retention.ts';
import { change, openOther, openPath, rows, withNumbers } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import { runInProcess } from '../../support/in-process-command.ts';
import { setLimits } from '../../support/overload.ts';
import { expected } from '../../support/records.ts';
import { assertNoErrors, type Overrides, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const DAY_MS = 86_400_000;

/** Starts a service; `json` resolves with the status, the body and the headers of an answer. */
async function start(t: TestContext, overrides: Overrides = {}) {
  const service = await startService(t, overrides);
  const json = async (method: string, path: string, body?: object, headers = {}) => {
    const answer = await service.request(method, path, { ...(body && { json: body }), headers });
    const isJson = /json/.test(String(answer.headers['content-type']));
    return { ...answer, body: isJson && answer.text ? JSON.parse(answer.text) : answer.text };
  };
  const status = async (...request: Parameters<typeof json>) => (await json(...request)).status;
  const items = async (path: string) => (await json('GET', path)).body.items;
  const idsIn = async (path: string) => (await items(path)).map(({ id }: { id: number }) => id);
  return { service, json, status, items, idsIn };
}

test('trash: a note comes back as it was, with what belongs to it', async (t) => {
  const { service, json, status, items, idsIn } = await start(t);
  const note = { title: 'Milk', body: 'white' };
  await json('PUT', '/named/diary', note);
  await json('PATCH', '/notes/1', { tags: ['a', 'b', 'c'] });
  await json('PATCH', '/notes/1', { body: 'fresh' });
  for (const body of ['one', 'two']) await json('POST', '/notes/1/comments', { body });
  const before = await json('GET', '/notes/1?include=times');
  const { next } = (await json('GET', '/changes')).body;
  assert.equal(await status('DELETE', '/notes/1'), 204);
  assert.equal(await status('DELETE', '/tags/2'), 204);

  for (const path of ['/notes/1', '/named/diary', '/notes/1/comments', '/notes/1/versions'])
    assert.equal(await status('GET', path), 404, path);
  assert.deepEqual(await idsIn('/notes?q=fresh'), []);
  const [{ deleted_at, erased_at, ...deleted }, ...others] = await items('/trash');
  const milk = expected({ id: 1, title: 'Milk', body: 'fresh' });
  assert.deepEqual([deleted, others], [{ ...milk, name: 'diary' }, []]);
  assert.equal(Date.parse(erased_at) - Date.parse(deleted_at), 30 * DAY_MS);

  const restored = await json('POST', '/trash/1/restore');
  assert.deepEqual(
    [restored.status, restored.headers.location, restored.body],
    [200, '/notes/1', expected({ id: 1, title: 'Milk', body: 'fresh' })],
  );
  const after = await json('GET', '/notes/1?include=times');
  assert.deepEqual(after.body, before.body);
  assert.equal((await json('GET', '/notes/1')).headers.etag, restored.headers.etag);
  assert.notEqual(after.headers.etag, before.headers.etag);
  assert.deepEqual((await json('GET', '/named/diary')).body, restored.body);
  assert.deepEqual(await idsIn('/notes/1/comments'), [1, 2]);
  assert.deepEqual(await idsIn('/notes/1/tags'), [1, 3]);
  assert.deepEqual(await idsIn('/tags/3/notes'), [1]);
  assert.deepEqual(await idsIn('/notes?q=fresh'), [1]);
  assert.equal((await items('/notes/1/versions')).length, 1);
  assert.deepEqual(await items('/trash'), []);

  const deletions = ['comment.deleted', 'comment.deleted', 'note.deleted', 'tag.deleted'];
  const feed = await items(`/changes?since=${next}`);
  assert.deepEqual(
    feed.map(({ type }: { type: string }) => type),
    [
      ...deletions,
      ...['note.created', 'comment.created', 'comment.created', 'note.tagged', 'note.tagged'],
    ],
  );
  const times = feed.slice(4).map(({ at }: { at: string }) => at);
  assert.ok(
    times.every((at: string) => at === times[0] && at >= deleted_at),
    times.join(' '),
  );

  // A repetition changes nothing, not even the time of the first one in the feed.
  const again = await json('POST', '/trash/1/restore');
  assert.match(again.body.detail, /^Deleted note with ID 1 was not found/);
  assert.deepEqual(await items(`/changes?since=${next}`), feed);
  assert.equal((await json('POST', '/notes', note)).body.id, 2);
  assertNoErrors(service);
});

test('trash: a note stays without its name if another note has it', async (t) => {
  const { json, status } = await start(t);
  for (const body of ['first', 'second']) {
    await json('PUT', '/named/diary', { title: 'a', body });
    await json('DELETE', '/named/diary');
  }
  for (const id of [1, 2]) await json('POST', `/trash/${id}/restore`);
  assert.equal((await json('GET', '/named/diary')).body.body, 'first');
  assert.equal((await json('PUT', '/named/diary', { title: 'a', body: 'third' })).body.id, 1);
  assert.equal((await json('GET', '/notes/2?include=name')).body.name, null);
  assert.equal(await status('DELETE', '/notes/2'), 204);
});

test('trash: no program can use an id again before all of its note is erased', async (t) => {
  setLimits(t, ERASURE_TIMES, { everyMs: 3_600_000 });
  const { service, json, status, items } = await start(t);
  for (const name of ['x', 'y']) await json('POST', '/tags', { name });
  for (const title of ['first', 'second'])
    await json('POST', '/notes', { title, body: 'b', tag_ids: [1, 2] });
  await json('POST', '/notes/1/comments', { body: 'one' });
  await json('DELETE', '/notes/1');
  await json('DELETE', '/tags/1');
  const other = await openPath(service.file);
  t.after(() => other.close());
  const noteAgain = "INSERT INTO notes (id, title, body) VALUES (1, 'again', 'b')";
  const tagAgain = "INSERT INTO tags (id, name) VALUES (1, 'again')";
  await assert.rejects(change(other, noteAgain), /the id is that of a note in the trash/);
  await assert.rejects(change(other, tagAgain), /the id is that of an erased tag/);
  assert.equal(await status('POST', '/trash/1/restore'), 200);
  assert.deepEqual(await items('/notes/1/comments?fields=body'), [{ body: 'one' }]);
  for (const path of ['/notes/1', '/trash/1']) await json('DELETE', path);
  await assert.rejects(change(other, noteAgain), /the id is that of an erased note/);
  await service.close();

  setLimits(t, ERASURE_TIMES, { pauseFactor: 0 });
  const again = await start(t, { db: service.file });
  await until(async () => (await rows(other, 'SELECT 1 FROM erased_records')).length === 0);
  for (const sql of [noteAgain, tagAgain]) await change(other, sql);
  assert.deepEqual(await again.idsIn('/notes/1/comments'), []);
  assert.deepEqual(await again.idsIn('/tags/1/notes'), []);
  assert.deepEqual(await again.idsIn('/notes/2/tags'), [2]);
  assertNoErrors(service);
});

test('trash: the tag changes with erased_at', async (t) => {
  const first = await start(t);
  await first.json('POST', '/notes', { title: 'a', body: 'b' });
  await first.json('DELETE', '/notes/1');
  const { headers } = await first.json('GET', '/trash/1');
  const { json } = await start(t, { db: first.service.file, historyDays: 7 });
  const known = { 'if-none-match': String(headers.etag) };
  const { status, body } = await json('GET', '/trash/1', undefined, known);
  assert.equal(status, 200);
  assert.equal(Date.parse(body.erased_at) - Date.parse(body.deleted_at), 7 * DAY_MS);
});

test('trash: the latest deletion comes first, on pages with links', async (t) => {
  const { json, idsIn, items, service } = await start(t);
  for (let id = 1; id <= 5; id += 1) await json('POST', '/notes', { title: `${id}`, body: 'b' });
  for (const id of [2, 5, 1, 4]) await json('DELETE', `/notes/${id}`);
  assert.deepEqual(await idsIn('/trash'), [4, 1, 5, 2]);
  assert.deepEqual(await items('/trash?fields=title&limit=2&offset=1'), [
    { title: '1' },
    { title: '5' },
  ]);
  const page = await json('GET', '/trash?fields=id&limit=1&offset=2');
  const { limit, offset, total } = page.body;
  assert.deepEqual([limit, offset, total], [1, 2, 4]);
  const linkTo = (rel: string, rest = '') =>
    `<${service.url}/trash?fields=id&limit=1${rest}>; rel="${rel}"`;
  assert.equal(
    page.headers.link,
    [linkTo('next', '&offset=3'), linkTo('prev', '&offset=1'), linkTo('first')].join(', '),
  );
  const text = await json('GET', '/trash/1', undefined, { accept: 'text/markdown' });
  assert.equal(text.body, '# 1\n\nb');
});

test('trash: pages from keys lead through all of it and back', async (t) => {
  const { json, status } = await start(t);
  for (let id = 1; id <= 6; id += 1) await json('POST', '/notes', { title: `${id}`, body: 'b' });
  for (const id of [2, 5, 1, 4, 3]) await json('DELETE', `/notes/${id}`);
  const page = async (path: string) => {
    const { body, headers } = await json('GET', path);
    const linkTo = (rel: string) =>
      new RegExp(`<http://[^/]+(/[^>]+)>; rel="${rel}"`).exec(String(headers.link))?.[1];
    const ids = body.items.map(({ id }: { id: number }) => id).join();
    return {
      ids,
      offset: body.offset,
      total: body.total,
      next: linkTo('next'),
      prev: linkTo('prev'),
    };
  };
  // The first position is 1.
  const first = await page('/trash?fields=id&limit=2&before=3');
  assert.deepEqual([first.ids, first.offset, first.total], ['3,4', undefined, 5]);
  assert.equal(first.prev, undefined);
  await json('DELETE', '/notes/6');
  const second = await page(String(first.next));
  assert.equal(second.ids, '1,5');
  const third = await page(String(second.next));
  assert.deepEqual([third.ids, third.next], ['2', undefined]);
  assert.equal((await page(String(third.prev))).ids, '1,5');
  const newest = await page(String((await page(String(second.prev))).prev));
  assert.deepEqual([newest.ids, newest.total], ['6', 6]);
  const empty = await page('/trash?after=1');
  assert.deepEqual(
    [empty.ids, empty.next, empty.prev?.endsWith('before=0')],
    ['', undefined, true],
  );
  assert.match(String((await page('/trash?after=0')).prev), /before=0$/);
  const beyond = await page('/trash?before=100&fields=id');
  assert.deepEqual([beyond.ids, beyond.prev], ['', undefined]);
  assert.equal((await page(String(beyond.next))).ids, '6,3,4,1,5,2');
  for (const query of ['after=1&before=2', 'after=1&offset=1', 'after=-1', 'order=id'])
    assert.equal(await status('GET', `/trash?${query}`), 422, query);
});

test('trash and versions: pages of large notes are whole', async (t) => {
  const { json, items, service } = await start(t);
  const body = '\u0001'.repeat(100_000);
  for (let id = 1; id <= 5; id += 1) {
    await json('POST', '/notes', { title: `${id}`, body });
    await json('DELETE', `/notes/${id}`);
  }
  const isWhole = (note: Record<string, unknown>) => [note.id, note.body === body];
  assert.deepEqual(
    (await items('/trash')).map(isWhole),
    [5, 4, 3, 2, 1].map((id) => [id, true]),
  );
  const page = await json('GET', '/trash?after=5&limit=3');
  assert.deepEqual(
    page.body.items.map(isWhole),
    [4, 3, 2].map((id) => [id, true]),
  );
  assert.match(String(page.headers.link), /after=2>; rel="next".*before=4>; rel="prev"/);
  assert.deepEqual(
    (await items('/trash?before=1&limit=3')).map(isWhole),
    [4, 3, 2].map((id) => [id, true]),
  );
  await json('POST', '/notes', { title: 'a', body: 'b' });
  const other = await openPath(service.file);
  t.after(() => other.close());
  await change(
    other,
    `INSERT INTO note_versions
     SELECT NULL, 6, position, 0, 0, title, body FROM deleted_notes ORDER BY position`,
  );
  const versions = await json('GET', '/notes/6/versions?after=5&limit=3');
  assert.deepEqual(
    versions.body.items.map(({ version, body: text }: Record<string, unknown>) => [
      version,
      text === body,
    ]),
    [4, 3, 2].map((version) => [version, true]),
  );
  assert.equal(versions.body.total, 5);
  assert.match(String(versions.headers.link), /after=2>; rel="next".*before=4>; rel="prev"/);
  const [newest] = (await json('GET', '/notes/6/versions?before=4&fields=version')).body.items;
  assert.deepEqual(newest, { version: 5 });
});

test('trash: what is erased is gone, with its comments and versions', async (t) => {
  const { json, status, items } = await start(t);
  for (let id = 1; id <= 4; id += 1) {
    await json('POST', '/notes', { title: `${id}`, body: 'b' });
    await json('PATCH', `/notes/${id}`, { body: 'c' });
    await json('POST', `/notes/${id}/comments`, { body: 'd' });
    if (id > 1) await json('DELETE', `/notes/${id}`);
  }
  assert.equal(await status('DELETE', '/trash/2'), 204);
  for (const request of ['DELETE /trash/2', 'POST /trash/2/restore', 'GET /trash/2']) {
    const [method = '', path = ''] = request.split(' ');
    assert.equal(await status(method, path), 404, request);
  }
  assert.equal((await items('/trash')).length, 2);
  assert.equal(await status('DELETE', '/trash'), 204);
  assert.deepEqual(await items('/trash'), []);
  assert.equal(await status('DELETE', '/trash'), 204);
  assert.equal((await items('/notes/1/versions')).length, 1);
});

test('trash: what a note owned is erased, also if it takes several steps', async (t) => {
  setLimits(t, ERASURE_TIMES, { everyMs: 1, pauseFactor: 0 });
  const { service, json, status } = await start(t);
  for (const title of ['first', 'second']) await json('POST', '/notes', { title, body: 'b' });
  const other = await openPath(service.file);
  t.after(() => other.close());
  await change(
    other,
    `${withNumbers(250)} INSERT INTO comments (note_id, body)
     SELECT 1 + n / 249, printf('%.*c', 10000, 'x') FROM numbers`,
  );
  for (const path of ['/notes/1', '/trash/1']) assert.equal(await status('DELETE', path), 204);
  await until(async () => (await rows(other, 'SELECT 1 FROM erased_records')).length === 0);
  assert.deepEqual(await rows(other, 'SELECT id FROM comments'), [{ id: 249 }, { id: 250 }]);
  assert.equal((await json('GET', '/notes/2/comments')).body.total, 2);
});

test('trash: exports and backups lack what is erased, also if the file has it', async (t) => {
  setLimits(t, ERASURE_TIMES, { everyMs: 3_600_000 });
  const { service, json, status } = await start(t);
  const other = await openPath(service.file);
  t.after(() => other.close());
  // The background has looked, and does not look again.
  await until(async () => (await rows(other, IS_LEFT))[0]?.is_left === 0);
  for (const name of ['kept', 'quagga']) await json('POST', '/tags', { name });
  for (let id = 1; id <= 4; id += 1) {
    const body = id === 1 ? 'zebra' : `okapi ${id}`;
    await json('POST', '/notes', { title: 'a', body, tags: ['kept', 'quagga'] });
    await json('PATCH', `/notes/${id}`, { body: id === 1 ? 'lion' : `gnu ${id}` });
    await json('POST', `/notes/${id}/comments`, { body: `tapir ${id}` });
  }
  const notes = ['/notes/1/versions', '/notes/2', '/trash/2', '/notes/3', '/trash', '/notes/4'];
  for (const path of [...notes, '/tags/2']) assert.equal(await status('DELETE', path), 204, path);
  const exported = (await service.request('GET', '/export')).text;
  const words = /zebra|okapi [23]|gnu [23]|tapir [23]|quagga|"tag_id":2|"note_id":[23]\b/;
  assert.doesNotMatch(exported, words);
  assert.match(exported, /lion.*tapir 1.*tapir 4.*okapi 4.*gnu 4/s);
  const { counts } = JSON.parse(exported.slice(0, exported.indexOf('\n')));
  assert.deepEqual([counts.notes, counts.comments, counts.note_tags], [1, 2, 1]);
  assert.equal((await rows(other, 'SELECT 1 FROM comments')).length, 4);
  if (needsFile) return;
  const copy = `${service.file}.backup`;
  await runInProcess(['backup', copy, '--db', service.file]);
  const text = readFileSync(copy, 'latin1');
  assert.doesNotMatch(text, /zebra|okapi [23]|gnu [23]|tapir [23]|quagga/);
  assert.match(text, /tapir 4/);
});

test('trash: what is deleted while the rest is being erased stays there', async (t) => {
  const { service, json, status, idsIn } = await start(t);
  const lines = Array.from({ length: 500 }, (_, id) => `{"title":"${id}","body":"b"}`).join('\n');
  const headers = { 'content-type': 'application/x-ndjson' };
  await service.request('POST', '/notes', { body: lines, headers });
  const other = await openPath(service.file);
  t.after(() => other.close());
  await change(other, 'DELETE FROM notes WHERE id < 500');
  assert.equal(await status('DELETE', '/trash'), 204);
  assert.equal(await status('DELETE', '/notes/500'), 204);
  assert.deepEqual(await idsIn('/trash'), [500]);
  assert.equal((await json('GET', '/trash')).body.total, 1);
  for (const [method, path] of [
    ['GET', '/trash/499'],
    ['DELETE', '/trash/499'],
    ['POST', '/trash/499/restore'],
  ] as const)
    assert.equal(await status(method, path), 404, method);
});

test('versions: an earlier text is listed, read and restored', async (t) => {
  const { service, json, status, items } = await start(t);
  const { etag } = (await json('POST', '/notes', { title: 'a', body: 'b' })).headers;
  await json('PUT', '/notes/1', { title: 'c', body: 'd' });
  const [{ updated_at, replaced_at, ...kept }, ...others] = await items('/notes/1/versions');
  const version = Number(String(etag).match(/\d+(?="$)/)?.[0]);
  assert.deepEqual([kept, others], [{ version, title: 'a', body: 'b' }, []]);
  assert.ok(updated_at <= replaced_at);
  const one = await json('GET', `/notes/1/versions/${version}`);
  assert.deepEqual([one.body, one.headers.etag], [{ ...kept, updated_at, replaced_at }, etag]);
  assert.deepEqual(await items('/notes/1/versions?fields=version'), [{ version }]);
  const text = await json('GET', `/notes/1/versions/${version}`, undefined, {
    accept: 'text/plain',
  });
  assert.equal(text.body, 'b');

  const restore = (body: object, headers = {}) => json('POST', '/notes/1/restore', body, headers);
  const stale = { 'if-match': String(etag) };
  for (const sent of [{ version }, { version: 99 }])
    assert.equal((await restore(sent, stale)).status, 412, 'a condition comes first');
  const { body: unknown } = await restore({ version: 99 });
  const latest = `${version} (replaced at ${replaced_at})`;
  assert.deepEqual(unknown.errors, [
    {
      ...{ field: 'version', in: 'body', pointer: '#/version', code: 'exists' },
      detail: `must be a version of the note, latest first: ${latest}`,
    },
  ]);
  assert.deepEqual((await restore({ version })).body, expected({ id: 1, title: 'a', body: 'b' }));
  assert.deepEqual(
    (await json('GET', '/notes/1')).body,
    expected({ id: 1, title: 'a', body: 'b' }),
  );
  const other = await openPath(service.file);
  t.after(() => other.close());
  await change(other, 'UPDATE note_versions SET replaced_at = NULL');
  const { detail } = (await restore({ version: 99 })).body;
  assert.match(detail, /latest first: 2 \(replaced at an unknown time\), 1 \(/);
  assert.match((await json('GET', '/notes/1/versions/99')).body.detail, /^Version with ID 99 /);
  for (const [method, path] of [
    ['GET', '/notes/2/versions'],
    ['GET', '/notes/2/versions/1'],
    ['DELETE', '/notes/2/versions'],
    ['POST', '/notes/2/restore'],
  ] as const) {
    const { body } = await json(method, path, method === 'POST' ? { version: 1 } : undefined);
    assert.match(body.detail, /^Note with ID 2 was not found/, path);
  }
  assert.equal(await status('DELETE', '/notes/1/versions'), 204);
  assert.deepEqual(await items('/notes/1/versions'), []);
  assert.equal(await status('DELETE', '/notes/1/versions'), 204);
});

test('versions: texts after the clock was set back stay as long as others do', async (t) => {
  setLimits(t, RETENTION_TIMES, { thinEveryMs: 3_600_000, pauseFactor: 0 });
  const { service, json } = await start(t);
  await json('POST', '/notes', { title: 'a', body: 'text' });
  const other = await openPath(service.file);
  t.after(() => other.close());
  // A second each; then, an hour before, a minute each.
  await change(
    other,
    `${withNumbers(120)} INSERT INTO note_versions
     SELECT NULL, 1, n, 0, ${Date.now()} + iif(n <= 100, n * 1000, n * 60000 - 9600000), 't', 'b'
     FROM numbers`,
  );
  const { body } = await json('GET', '/notes/1/versions?limit=20&fields=version');
  const numbers = body.items.map(({ version }: { version: number }) => version);
  assert.deepEqual(
    numbers,
    Array.from({ length: 20 }, (_, place) => 120 - place),
  );
});

test('versions: a note shows 100, and the others are erased', async (t) => {
  setLimits(t, RETENTION_TIMES, { thinEveryMs: 3_600_000, pauseFactor: 0 });
  const { service, json, status } = await start(t);
  for (const title of ['a', 'b', 'c']) await json('POST', '/notes', { title, body: 'text' });
  const other = await openPath(service.file);
  t.after(() => other.close());
  // Of the first note, there are more than it is decided on at once.
  const counts = [300, 103, 100];
  for (const [place, count] of counts.entries())
    await change(
      other,
      `${withNumbers(count)} INSERT INTO note_versions
       SELECT NULL, ${place + 1}, n, 0, ${Date.now()} + n * 1000 + iif(n = 42, 0, n), 't', 'b'
       FROM numbers`,
    );
  // The time of 42 counts for 43, and the others stood equally long.
  for (const [id, gone] of [
    [2, [2, 4, 42]],
    [3, []],
  ] as const) {
    const { body } = await json('GET', `/notes/${id}/versions?limit=100&fields=version`);
    const numbers = body.items.map(({ version }: { version: number }) => version);
    const all = Array.from({ length: counts[id - 1] ?? 0 }, (_, place) => place + 1);
    const shown = all.filter((each) => !gone.some((other) => other === each));
    assert.deepEqual([numbers.toReversed(), body.total], [shown, 100]);
    assert.equal(await status('GET', `/notes/${id}/versions/3`), 200);
    for (const version of gone) {
      assert.equal(await status('GET', `/notes/${id}/versions/${version}`), 404);
      assert.equal(await status('POST', `/notes/${id}/restore`, { version }), 422);
    }
  }
  const exported = (await service.request('GET', '/export')).text.split('\n');
  const isVersion = (line: string) => line.includes('"note_version"');
  assert.equal(exported.filter(isVersion).length, 300);
  assert.equal(JSON.parse(exported[0] ?? '').counts.note_versions, 300);
  if (!needsFile) {
    const copy = `${service.file}.backup`;
    await runInProcess(['backup', copy, '--db', service.file]);
    const copied = await openPath(copy);
    t.after(() => copied.close());
    const counted = await rows(copied, 'SELECT count(*) AS count FROM note_versions');
    assert.deepEqual(counted, [{ count: 300 }]);
  }
  await service.close();
  await start(t, { db: service.file });
  const counting = 'SELECT note_id, count(*) AS count FROM note_versions GROUP BY note_id';
  await until(async () =>
    isDeepStrictEqual(
      await rows(other, counting),
      counts.map((_, place) => ({ note_id: place + 1, count: 100 })),
    ),
  );
});

test('conditions: reads and erasures obey the tag of the note', async (t) => {
  const { json, items } = await start(t);
  for (const id of [1, 2]) {
    await json('POST', '/notes', { title: 'a', body: 'b' });
    await json('PATCH', `/notes/${id}`, { body: 'c' });
  }
  await json('DELETE', '/notes/2');
  const [{ version }] = await items('/notes/1/versions');
  const tagOf = async (path: string) => String((await json('GET', path)).headers.etag);
  for (const accept of ['application/json', 'text/plain', 'text/markdown'])
    for (const path of [`/notes/1/versions/${version}`, '/trash/2']) {
      const read = (sent: object) => json('GET', path, undefined, { accept, ...sent });
      const tag = (await read({})).headers.etag;
      for (const [status, sent] of [
        [304, { 'if-none-match': `"x", ${tag}` }],
        [412, { 'if-match': '"00000000-1"' }],
        [400, { 'if-none-match': 'x' }],
      ] as const)
        assert.equal((await read(sent)).status, status, `${path} ${accept}`);
    }
  for (const [path, tag] of [
    ['/notes/1/versions', await tagOf('/notes/1')],
    ['/trash/2', await tagOf('/trash/2')],
  ] as const) {
    const erase = (sent: object) => json('DELETE', path, undefined, sent);
    for (const sent of [
      { 'if-match': '"x"' },
      { 'if-match': `W/${tag}` },
      { 'if-none-match': tag },
    ]) {
      const { status, headers } = await erase(sent);
      assert.deepEqual([status, headers.etag], [412, tag], path);
    }
    assert.equal((await erase({ 'if-match': 'x' })).status, 400, path);
    assert.equal((await items(path === '/trash/2' ? '/trash' : path)).length, 1);
    assert.equal((await erase({ 'if-match': tag })).status, 204, path);
  }
  assert.deepEqual([await items('/notes/1/versions'), await items('/trash')], [[], []]);
});

test('retention: what is due goes, and nothing else', { skip: needsFile }, async (t) => {
  const { service, json } = await start(t);
  for (let id = 1; id <= 4; id += 1) {
    await json('POST', '/notes', { title: `${id}`, body: 'b' });
    await json('PATCH', `/notes/${id}`, { body: 'c' });
    if (id > 2) await json('DELETE', `/notes/${id}`);
  }
  const other = await openOther(t, service.file);
  const before = (days: number) => Date.now() - days * DAY_MS;
  // The order of their deletion and the clock can differ, and times can be in the future.
  await other.execute(`
    WITH RECURSIVE ids(id) AS (VALUES (1001) UNION ALL SELECT id + 1 FROM ids WHERE id < 5200)
    INSERT INTO deleted_notes (deleted_at, tag_ids, id, number, title, body)
    SELECT ${before(365)}, '[]', id, 0, 'old', 'b' FROM ids;
    INSERT INTO note_versions
    SELECT -id, -id, 1, 0, ${before(-36_500)}, 'future', 'b' FROM deleted_notes WHERE id > 1000;
    UPDATE deleted_notes SET deleted_at = ${before(-36_500)} WHERE id = 3;
    UPDATE deleted_notes SET deleted_at = ${before(31)} WHERE id = 4;
    UPDATE note_versions SET replaced_at = ${before(29)} WHERE note_id = 1;
    UPDATE note_versions SET replaced_at = ${before(31)} WHERE note_id = 2;`);
  setLimits(t, RETENTION_TIMES, { everyMs: 10, pauseFactor: 0 });
  await service.close();
  const { now } = Date;
  const again = await start(t, { db: service.file });
  await until(async () => (await again.json('GET', '/trash')).body.total === 1);
  await until(async () => (await again.json('GET', '/notes/2/versions')).body.total === 0);
  // A clock that is set forward makes nothing due.
  t.mock.method(Date, 'now', () => now() + 100 * DAY_MS);
  await again.json('POST', '/notes', { title: 'later', body: 'b' });
  await other.execute(`UPDATE deleted_notes SET deleted_at = ${now() - 29 * DAY_MS} WHERE id = 3`);
  const versions = async () => (await again.json('GET', '/notes/1/versions')).body.total;
  // The first ones may be erased by the run that is under way.
  for (let run = 1; run <= 5; run += 1) {
    await other.execute(
      `INSERT INTO note_versions VALUES (NULL, 1, ${1_000 + run}, 0, 0, 'due', 'b')`,
    );
    await until(async () => (await versions()) < 2);
  }
  assert.deepEqual(await again.idsIn('/trash'), [3]);
  assert.equal(await versions(), 1);
  // As after a deletion by another program.
  await other.execute('UPDATE deleted_notes SET deleted_at = NULL');
  assert.equal((await again.items('/trash'))[0].erased_at, null);
  assert.equal(await again.status('DELETE', '/trash'), 204);
  assert.deepEqual(await again.items('/trash'), []);
});

test('retention: with 0 days, all is erased at the start, and nothing is kept', async (t) => {
  const { service, json } = await start(t);
  for (let id = 1; id <= 2; id += 1) await json('POST', '/notes', { title: 'a', body: 'b' });
  await json('PATCH', '/notes/1', { body: 'c' });
  await json('DELETE', '/notes/2');
  await service.close();
  const again = await start(t, { db: service.file, historyDays: 0 });
  await until(async () => (await again.json('GET', '/trash')).body.total === 0);
  await until(async () => (await again.json('GET', '/notes/1/versions')).body.total === 0);
  await again.json('PATCH', '/notes/1', { body: 'd' });
  assert.deepEqual(await again.items('/notes/1/versions'), []);
  await again.json('DELETE', '/notes/1');
  assert.deepEqual(await again.items('/trash'), []);
});

test('retention: the service that was started last sets the days of all', async (t) => {
  setLimits(t, RETENTION_TIMES, { everyMs: 10, pauseFactor: 0 });
  const { service, json, idsIn } = await start(t, { historyDays: 0 });
  await json('POST', '/notes', { title: 'a', body: 'b' });
  const other = await openPath(service.file);
  t.after(() => other.close());
  await keepFor(30, other);
  await json('DELETE', '/notes/1');
  // The first one may be erased by the run that is under way.
  for (let run = 1; run <= 2; run += 1) {
    await change(other, "INSERT INTO note_versions VALUES (NULL, 1, 1, 0, 0, 'due', 'b')");
    await until(async () => (await rows(other, 'SELECT id FROM note_versions')).length === 0);
  }
  assert.deepEqual(await idsIn('/trash'), [1]);
});
