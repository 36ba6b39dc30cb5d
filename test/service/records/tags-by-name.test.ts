// Tags on notes by name: created with the note, at most one for each new name, and as a filter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { expected } from '../../support/records.ts';
import { clientOf, lines, NOTE, tagsOf } from '../../support/tagged-notes.ts';

/** Names that differ, though something between two programs might confuse them. */
const ODD_NAMES = [
  ...['a', 'A', 'a\u0000', 'a\u0000b', '\u0000a', 'a ', ' a', 'a,b', "a'b", '"a"', 'é', 'e\u0301'],
  ...['😀', '\u{10ffff}', '\ufeffa', '1', '1.0', 'null', 'true', '[1]', '{"a":1}', "x'6162'", '%'],
];

const only = (name: string, ...others: string[]) =>
  `/notes?${[name, ...others].map((each) => `tag=${encodeURIComponent(each)}`).join('&')}`;

async function namesOf(service: Target, note: number): Promise<string[]> {
  return (await service.request('GET', `/notes/${note}?include=tags`)).json.tags;
}

async function allTags(service: Target): Promise<string[]> {
  const { items } = (await service.request('GET', '/tags?limit=100')).json;
  return items.map(({ name }: { name: string }) => name);
}

async function checkWrites(service: Target): Promise<void> {
  const { send, etagOf, post } = clientOf(service);
  await send('POST', '/tags', 201, lines({ name: 'old' }, { name: 'twice' }, { name: 'twice' }));
  const created = await post({ json: { ...NOTE, tags: ['new', 'twice', 'old'] } });
  assert.deepEqual(created.json, expected({ id: 1, ...NOTE }));
  assert.deepEqual(await tagsOf(service, 1), [1, 2, 4]);
  assert.deepEqual(await namesOf(service, 1), ['old', 'twice', 'new']);
  assert.equal(await etagOf(1), created.headers.etag);

  const more = [{ tags: ['x', 'y'] }, { tag_ids: [1] }, {}, { tags: [] }, { tags: ['z', 'x'] }];
  await post(lines(...more.map((each) => ({ ...NOTE, ...each }))));
  const sets = await Promise.all([2, 3, 4, 5, 6].map((note) => namesOf(service, note)));
  assert.deepEqual(sets, [['x', 'y'], ['old'], [], [], ['x', 'z']]);

  const etag = await etagOf(1);
  const patched = await send('PATCH', '/notes/1', 200, { json: { tags: ['y', 'later'] } });
  assert.deepEqual([patched.json, patched.headers.etag], [expected({ id: 1, ...NOTE }), etag]);
  assert.deepEqual(await namesOf(service, 1), ['y', 'later']);
  const put = await send('PUT', '/notes/1', 200, { json: { ...NOTE, tags: ['last'] } });
  assert.deepEqual([await namesOf(service, 1), await etagOf(1)], [['last'], put.headers.etag]);
  await send('PUT', '/notes/1', 200, { json: NOTE });
  await send('PATCH', '/notes/1', 200, { json: { title: 'c' } });
  assert.deepEqual(await namesOf(service, 1), ['last']);
  await send('PATCH', '/notes/1', 200, { json: { tags: [] } });
  assert.deepEqual(await namesOf(service, 1), []);
  assert.equal((await allTags(service)).join(' '), 'old twice twice new x y z later last');
  const { json } = await send('GET', '/tags/9?include=times,notes_count', 200);
  assert.equal(json.notes_count, 0);
  assert.match(json.created_at, /Z$/);
  assert.equal(json.updated_at, json.created_at);
  assert.match(String((await send('HEAD', '/tags/9', 200)).headers.etag), /^"[0-9a-f]{8}-\d+"$/);
}

async function checkRoundTrip(service: Target): Promise<void> {
  const { send } = clientOf(service);
  await send('POST', '/tags', 201, lines({ name: 'twice' }, { name: 'one' }, { name: 'twice' }));
  await send('POST', '/notes', 201, { json: { ...NOTE, tag_ids: [3, 2, 1] } });
  const { json } = await send('GET', '/notes/1?include=tags,times', 200);
  // A name that two of its tags have is listed once, so that it can be sent back.
  assert.deepEqual(json.tags, ['twice', 'one']);
  json.tags.push('more');
  await send('PUT', '/notes/1', 200, { json });
  assert.deepEqual(await tagsOf(service, 1), [1, 2, 4]);
  const [item] = (await send('GET', '/notes?include=tags,tag_ids', 200)).json.items;
  const tagged = { tag_ids: [1, 2, 4], tags: ['twice', 'one', 'more'] };
  assert.deepEqual(item, expected({ id: 1, ...NOTE, ...tagged }));
  const both = await send('PUT', '/notes/1', 422, { json: item });
  const detail = 'must not be combined with tag_ids; leave out one of the two';
  const at = { field: 'tags', in: 'body', pointer: '#/tags' };
  assert.deepEqual(both.json.errors, [{ ...at, code: 'oneOf', detail }]);
  const bulk = await send('POST', '/notes', 422, lines({ ...NOTE, tags: ['n'] }, item));
  assert.deepEqual(bulk.json.errors[0].pointer, '#/1/tags');
  for (const tags of [[], ['n']])
    await send('PATCH', '/notes/1', 422, { json: { tag_ids: [], tags } });
  assert.deepEqual(await allTags(service), ['twice', 'one', 'twice', 'more']);
}

/** Generated clients send null, or empty lists of both, for what was never set. */
async function checkUnset(service: Target): Promise<void> {
  const { send, etagOf, post } = clientOf(service);
  const unset = [{ tags: null }, { tag_ids: null }, { tag_ids: null, tags: null }] as const;
  const empty = { tag_ids: [], tags: [] };
  for (const each of [...unset, empty]) await post({ json: { ...NOTE, ...each } });
  await post({ json: { ...NOTE, tags: ['a'], tag_ids: null } });
  const named = { ...NOTE, tags: ['a'] };
  await post(lines({ ...NOTE, ...empty }, { ...named, tag_ids: null }, { ...NOTE, tags: null }));
  const sets = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((note) => namesOf(service, note)));
  assert.deepEqual(sets, [[], [], [], [], ['a'], [], ['a'], []]);

  const etag = await etagOf(5);
  for (const json of unset)
    assert.equal((await send('PATCH', '/notes/5', 200, { json })).headers.etag, etag);
  for (const json of unset) {
    await send('PATCH', '/notes/5', 200, { json: { title: 'c', ...json } });
    await send('PUT', '/notes/5', 200, { json: { ...NOTE, ...json } });
  }
  // They would remove tags that nobody meant to remove.
  for (const method of ['PUT', 'PATCH']) {
    const { json } = await send(method, '/notes/5', 422, { json: { ...NOTE, ...empty } });
    assert.equal(json.errors[0].pointer, '#/tags');
  }
  await post({ json: { ...NOTE, tag_ids: [1], tags: [] } }, 422);
  const both = await post(lines(NOTE, { ...NOTE, tag_ids: [], tags: ['a'] }), 422);
  assert.equal(both.json.errors[0].pointer, '#/1/tags');
  // It is no integer, and no null either.
  for (const member of ['tags', 'tag_ids'])
    for (const method of ['POST', 'PUT', 'PATCH']) {
      const path = method === 'POST' ? '/notes' : '/notes/5';
      const body = `{"title":"c","body":"b","${member}":4.0}`;
      const { json } = await send(method, path, 422, { body });
      assert.equal(json.detail, `${member} must be an array or null.`);
    }
  await send('PATCH', '/notes/5', 200, { json: { title: 'c', tags: ['b'], tag_ids: null } });
  assert.deepEqual(await namesOf(service, 5), ['b']);
  assert.deepEqual(await allTags(service), ['a', 'b']);
}

async function checkRefusals(service: Target): Promise<void> {
  const { send, state, etagOf, post } = clientOf(service);
  const tagged = { ...NOTE, tags: ['first', 'second'] };
  const keyed = (key: string, json: object) => ({ json, headers: { 'idempotency-key': key } });
  const first = await post(keyed('k', tagged));
  const etag = String(await etagOf(1));
  await send('PUT', '/notes/1', 200, { json: { ...NOTE, title: 'new' } });
  await send('PATCH', '/tags/1', 200, { json: { name: 'renamed' } });
  await send('DELETE', '/tags/2', 204);
  const before = await state();
  const json = { ...NOTE, tags: ['n', 'm'] };
  const replayed = await post(keyed('k', tagged));
  assert.deepEqual(
    [replayed.bytes, replayed.headers['idempotent-replayed']],
    [first.bytes, 'true'],
  );
  await post(keyed('k', json), 422);
  await post({ json: { ...json, title: ' ' } }, 422);
  await post(lines(json, { ...NOTE, tag_ids: [1, 9] }), 422);
  // The id that the first new tag would get.
  const unknown = await post(lines(json, { ...NOTE, tag_ids: [3] }), 422);
  assert.equal(unknown.json.errors[0].pointer, '#/1/tag_ids/0');
  for (const method of ['PUT', 'PATCH']) {
    await send(method, '/notes/1', 412, { json, headers: { 'if-match': etag } });
    await send(method, '/notes/1', 412, { json, headers: { 'if-none-match': '*' } });
    await send(method, '/notes/9', 404, { json });
    await send(method, '/notes/9', 404, { json, headers: { 'if-match': '*' } });
    await send(method, '/notes/1', 422, { json: { ...json, body: 1 } });
    await send(method, '/notes/1', 422, { json: { ...NOTE, tag_ids: [1, 9] } });
  }
  assert.deepEqual([await state(), await allTags(service)], [before, ['renamed']]);
  assert.deepEqual(await namesOf(service, 1), ['renamed']);
}

async function checkFeed(service: Target): Promise<void> {
  const { send, post } = clientOf(service);
  const changesSince = async (cursor: string) => {
    const { json } = await send('GET', `/changes?since=${cursor}`, 200);
    return json.items.map(
      ({ type, at, note_id: note, tag_id: tag }: Record<string, string>) =>
        `${at && type} ${[note, tag].filter(Boolean).join('-')}`,
    );
  };
  const position = async () => (await send('GET', '/changes', 200)).json.next;
  const start = await position();
  await post(lines({ ...NOTE, tags: ['b', 'a'] }, { ...NOTE, tags: ['a', 'c'] }));
  assert.deepEqual(await changesSince(start), [
    ...['note.created 1', 'note.created 2', 'tag.created 1', 'tag.created 2', 'tag.created 3'],
    ...['note.tagged 1-1', 'note.tagged 1-2', 'note.tagged 2-2', 'note.tagged 2-3'],
  ]);
  const next = await position();
  await send('PATCH', '/notes/1', 200, { json: { title: 'c', tags: ['d', 'a'] } });
  assert.deepEqual(await changesSince(next), [
    ...['tag.created 4', 'note.untagged 1-1', 'note.tagged 1-4', 'note.updated 1'],
  ]);
}

async function checkConcurrency(service: Target): Promise<void> {
  const { send, post } = clientOf(service);
  await post(lines(...Array(20).fill(NOTE)));
  const names = Array.from({ length: 8 }, (_, index) => `tag ${index}`);
  const some = (at: number) => [0, 1, 2].map((step) => String(names[(at + step * 3) % 8]));
  const json = (at: number) => ({ ...NOTE, tags: some(at) });
  await Promise.all(
    Array.from({ length: 60 }, (_, at) => {
      if (at % 3 === 0) return send('PATCH', `/notes/${1 + at / 3}`, 200, { json: json(at) });
      return post(at % 3 === 1 ? { json: json(at) } : lines(json(at), json(at + 1)));
    }),
  );
  assert.deepEqual((await allTags(service)).sort(), names);
  const { items } = (await send('GET', '/notes?limit=100&include=tags', 200)).json;
  assert.equal(items.length, 80);
  const sets = new Set(names.map((_, at) => some(at).sort().join()));
  for (const { tags } of items) assert.ok(sets.has(tags.sort().join()), tags.join());
  const same = { json: json(0), headers: { 'idempotency-key': 'same' } };
  await Promise.all(Array.from({ length: 6 }, () => post(same)));
  assert.equal((await allTags(service)).length, 8);
}

async function checkFilters(service: Target): Promise<void> {
  const { send, post } = clientOf(service);
  await post(lines(...ODD_NAMES.map((name) => ({ title: name, body: 'b', tags: [name] }))));
  assert.deepEqual(await allTags(service), ODD_NAMES);
  for (const [index, name] of ODD_NAMES.entries()) {
    const { items, total } = (await send('GET', `${only(name)}&include=tags`, 200)).json;
    const note = expected({ id: index + 1, title: name, body: 'b', tags: [name] });
    assert.deepEqual([items, total], [[note], 1], name);
  }
  const totalOf = async (path: string) => (await send('GET', path, 200)).json.total;
  await send('PATCH', '/notes/2', 200, { json: { tags: ['a', 'A', 'a,b'] } });
  assert.equal(await totalOf(only('a')), 2);
  assert.equal(await totalOf(only('a', 'A')), 1);
  assert.equal(await totalOf(only('a', 'a')), 2);
  assert.equal(await totalOf(`${only('a')}&tag_id=8`), 1);
  assert.equal(await totalOf(`${only('a')}&tag_id=8&untagged=true`), 0);
  assert.equal(await totalOf(`/tags/1/notes${only('a,b').slice('/notes'.length)}`), 1);
  const others = ['', 'tag=a', 'order=-updated', 'offset=5000', 'q=b', 'q=b&tag=a', 'tag_id=1'];
  for (const more of others) assert.equal(await totalOf(`${only('nobody')}&${more}`), 0, more);
  assert.equal(await totalOf(`${only('a')}&q=b&order=-updated`), 2);

  // Of several tags with the name, the one with the lowest id counts.
  await send('PATCH', '/tags/8', 200, { json: { name: '1' } });
  assert.equal(await totalOf(only('1')), 2);
  assert.equal(await totalOf(only('a,b')), 0);
  await send('DELETE', '/tags/8', 204);
  assert.equal(await totalOf(only('1')), 1);
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  for (const [name, check] of Object.entries({
    'created with notes': checkWrites,
    'read, edited and sent back': checkRoundTrip,
    'null, and two empty lists': checkUnset,
    'a refused or repeated request creates none': checkRefusals,
    'reported before the links': checkFeed,
    'created once, whoever writes at the same time': checkConcurrency,
    'as a filter, to the code point': checkFilters,
  }))
    test(`tags by name: ${name}, ${deployment}`, async (t) => check(await start(t)));
}
