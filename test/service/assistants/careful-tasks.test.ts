// Tasks that go wrong for who does not take care: long texts, other writers, lost answers; and the
// ways that lead nowhere, each of which says the next step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAssistant } from '../../support/assistants.ts';

test('careful tasks: "Read me the long report, from where you stopped."', async (t) => {
  const { service, ask } = await startAssistant(t);
  const near = `${'a'.repeat(19_995)}${'👋'.repeat(10)}`;
  const body = `${near}${'b'.repeat(19_990)}${'👋'.repeat(20)}${'c'.repeat(4_985)}`;
  assert.equal([...body].length, 45_000);
  await service.request('POST', '/notes', { json: { title: 'Report', body } });
  const parts: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const part = await ask('get_note', { id: 1, offset });
    assert.ok(part.body.isWellFormed());
    parts.push(part.body);
    offset = part.next_offset;
  }
  assert.equal(parts.length, 3);
  assert.equal(parts.join(''), body);
});

test('careful tasks: "Lösche die Notiz über den Router. Ach nein, doch nicht."', async (t) => {
  const { service, ask } = await startAssistant(t);
  const json = { title: 'Alter Router', body: 'admin', tags: ['netz'] };
  await service.request('POST', '/notes', { json });
  const { items } = await ask('search_notes', { query: 'router' });
  await ask('delete_note', { id: items[0].id });
  await ask('restore_note', { id: items[0].id });
  const { id, title, body, tags } = await ask('get_note', { id: 1 });
  assert.deepEqual({ id, title, body, tags }, { id: 1, ...json });
});

for (const [said, name, args] of [
  ['「日記」を消して、ただし誰かが直したばかりなら消さないで。', 'delete_note', {}],
  ["Rewrite my note 'Plan' as three bullet points.", 'update_note', { body: '- a\n- b\n- c' }],
] as const)
  test(`careful tasks: "${said}"`, async (t) => {
    const { service, ask, refusal } = await startAssistant(t);
    const note = { title: '日記', body: 'a, b, c', name: '日記' };
    await service.request('POST', '/notes', { json: note });
    const { etag } = await ask('get_note', { name: '日記' });
    await service.request('PATCH', '/notes/1', { json: { body: 'a, b, c, d' } });
    const refused = await refusal(name, { name: '日記', etag, ...args });
    assert.match(refused, /Read it again with get_note/);
    const read = await ask('get_note', { id: 1 });
    assert.equal(read.body, 'a, b, c, d');
    await ask(name, { id: 1, etag: read.etag, ...args });
  });

test(`careful tasks: "Add 'milk' to the shopping list", and the answer is lost`, async (t) => {
  const { service, ask } = await startAssistant(t);
  const json = { title: 'Shopping list', body: 'bread' };
  await service.request('POST', '/notes', { json });
  const args = { id: 1, text: 'milk', retry_key: 'f81d4fae' };
  const lost = await ask('append_to_note', args);
  assert.deepEqual(await ask('append_to_note', args), lost);
  assert.equal((await ask('get_note', { id: 1 })).body, 'bread\nmilk');
});

test('careful tasks: "Wie viele Notizen habe ich ohne Schlagwort, und welche?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  for (let day = 10; day < 18; day += 1) {
    const created_at = `2026-11-${day}T00:00:00Z`;
    const tags = day === 16 ? ['a'] : [];
    const json = { title: `${day}`, body: 'a', created_at, tags };
    await service.request('POST', '/notes', { json });
  }
  const args = { untagged: true, order: '-created', limit: 5 };
  const { items, total } = await ask('search_notes', args);
  const titles = items.map(({ title }: { title: string }) => title);
  assert.deepEqual([total, titles], [7, ['17', '15', '14', '13', '12']]);
});

test(`careful tasks: "Find the note that mentions 'carburetor' but is not sold."`, async (t) => {
  const { service, ask } = await startAssistant(t);
  for (const tags of [['sold'], []]) {
    const json = { title: `car ${tags}`, body: 'A carburetor.', tags };
    await service.request('POST', '/notes', { json });
  }
  const args = { query: 'carburetor', not_tags: ['sold'] };
  const { items, total } = await ask('search_notes', args);
  assert.deepEqual([total, items[0].id], [1, 2]);
});

/** Calls that are refused, each with the next step that the refusal names. */
const WRONG: readonly (readonly [name: string, args: object, next: RegExp])[] = [
  ['get_note', { id: 4_711 }, /^Note with ID 4711 was not found\. .*search_notes.*list_trash/],
  ['append_to_note', { id: 2, text: 'a' }, /not found\. .*list_trash finds it, and restore_note/],
  ['edit_note', { id: 2, old_text: 'a', new_text: 'b' }, /list_trash/],
  ['tag_note', { id: 2, add: ['a'] }, /list_trash/],
  ['add_comment', { id: 2, text: 'a' }, /list_trash/],
  ['get_note', { name: 'nobody' }, /^No note is named nobody\. .*search_notes/],
  ['list_comments', { name: 'nobody' }, /^No note is named nobody\. .*search_notes/],
  ['append_to_note', { name: 'nobody', text: 'a' }, /call again with create/],
  ['append_to_note', { name: 'nobody', text: 'a', create: false }, /call again with create/],
  ['get_note', { name: 'a//b' }, /^name must not have empty segments.*search_notes/],
  ['append_to_note', { name: '..', text: 'a', create: true }, /^name must not have dot segments/],
  ['update_note', { id: 1, etag: '00000000-1', body: 'a' }, /Read it again with get_note/],
  [
    'create_note',
    { title: 'a', body: 'a'.repeat(100_001) },
    /^body must have at most 100000.*rest/,
  ],
  ['append_to_note', { id: 1, text: 'a'.repeat(99_999) }, /^text must leave the body .*rest/],
  [
    'tag_note',
    { id: 1, add: ['a'], remove: ['a'] },
    /^remove\.0 must not be in add, too\. Correct/,
  ],
  ['get_note', { id: 1, offset: 99 }, /^offset must be at most 5, the number of characters/],
  ['list_changes', { since: '00000000-1' }, /Call list_changes without since/],
  ['list_changes', { since: 'yesterday' }, /^since must be a time such as /],
  ['search_notes', { text: 'a' }, /^text is not known\. Correct/],
  [
    'tag_note',
    { id: 1, add: ['x'], retry_key: 'used' },
    /A retry_key only repeats .*: leave it out/,
  ],
  ['tag_note', { id: 1, add: ['x'], retry_key: 'a b' }, /^retry_key must be 1 to 128 letters/],
  ['append_to_note', { text: 'a' }, /^id is required\. Give the id, which search_notes finds, or/],
  ['append_to_note', { id: 1, text: 'a', create: true }, /^id must not be combined with create/],
  ['list_comments', { id: 1, name: 'a' }, /^name must not be combined with id/],
  ['restore_note', { id: 1 }, /^version must be a version of the note, .*Choose one/],
];

test('careful tasks: each wrong way says the next step', async (t) => {
  const { service, ask, refusal } = await startAssistant(t);
  for (const title of ['a', 'b'])
    await service.request('POST', '/notes', { json: { title, body: 'texts' } });
  await ask('tag_note', { id: 1, add: ['used'], retry_key: 'used' });
  await service.request('DELETE', '/notes/2');
  for (const [name, args, next] of WRONG) assert.match(await refusal(name, args), next, name);
  const future = { since: '2999-01-01T00:00:00Z' };
  const { items, more } = await ask('list_changes', future);
  assert.deepEqual([items, more], [[], false]);
});
