// What people say to an assistant, in three languages, with the calls that a careful reader makes
// who knows only the list of tools. Today is Friday, 2026-11-27, where a task speaks of days.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAssistant } from '../../support/assistants.ts';
import type { Service } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** Stores notes; each has a body if it is given none. */
async function store({ request }: Service, ...notes: readonly object[]): Promise<void> {
  for (const note of notes) {
    const { status, text } = await request('POST', '/notes', { json: { body: 'text', ...note } });
    assert.equal(status, 201, text);
  }
}

const bodyOf = async ({ request }: Service, path: string) => (await request('GET', path)).json.body;

/** Waits until what comes has a later time than what has been written. */
async function later(): Promise<string> {
  const before = Date.now();
  await until(() => Date.now() > before + 1);
  return new Date().toISOString();
}

const titles = ({ items }: { items: { title: string }[] }) => items.map(({ title }) => title);

test('tasks: "When did I write the note about the boiler?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: 'Boiler service', created_at: '2026-03-04T09:30:00Z' });
  const { items } = await ask('search_notes', { query: 'boiler' });
  assert.equal(items[0].created_at, '2026-03-04T09:30:00.000Z');
  assert.equal((await ask('get_note', { id: items[0].id })).created_at, items[0].created_at);
});

test('tasks: "Was habe ich am Dienstag aufgeschrieben?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  for (const [title, day] of Object.entries({
    ...{ a: '23T08:00', b: '23T23:59', c: '23T10:00', Zahnarzt: '24T00:00' },
    ...{ 'Küche ausgemessen': '24T18:00', d: '25T00:00' },
  }))
    await store(service, { title, created_at: `2026-11-${day}:00Z` });
  const days = {
    created_after: '2026-11-23T23:59:59.999Z',
    created_before: '2026-11-25T00:00:00Z',
  };
  const found = await ask('search_notes', { ...days, order: 'created' });
  assert.deepEqual(titles(found), ['Zahnarzt', 'Küche ausgemessen']);
});

test('tasks: "一番古いメモを三つ見せて。"', async (t) => {
  const { service, ask } = await startAssistant(t);
  for (const day of [19, 12, 15, 11, 18, 14, 10, 17, 13, 16])
    await store(service, { title: `${day}`, created_at: `2026-11-${day}T00:00:00Z` });
  const found = await ask('search_notes', { order: 'created', limit: 3 });
  assert.deepEqual(titles(found), ['10', '11', '12']);
});

test('tasks: "Bring back the note about the tent that I deleted yesterday."', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: 'Tent list', tags: ['camping'] }, { title: 'a' }, { title: 'b' });
  await service.request('POST', '/notes/1/comments', { json: { body: 'pegs' } });
  for (const id of [1, 2, 3]) await service.request('DELETE', `/notes/${id}`);
  const { items } = await ask('list_trash', { query: 'tent' });
  assert.deepEqual(
    items.map(({ id, title }: { id: number; title: string }) => [id, title]),
    [[1, 'Tent list']],
  );
  assert.match(items[0].deleted_at, /^2/);
  await ask('restore_note', { id: 1 });
  const note = await ask('get_note', { id: 1 });
  assert.deepEqual([note.tags, note.comments_count], [['camping'], 1]);
  assert.equal((await ask('list_trash')).total, 2);
});

test('tasks: "Schreib in mein Tagebuch: Heute zum ersten Mal geschwommen."', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: 'Mein Tagebuch', body: 'Mo\nDi', name: 'Tagebuch' });
  const text = 'Heute zum ersten Mal geschwommen.';
  await ask('append_to_note', { name: 'Tagebuch', text, create: true });
  assert.equal(await bodyOf(service, '/named/Tagebuch'), `Mo\nDi\n${text}`);
});

test('tasks: "Add to my diary: rain all day."', async (t) => {
  const { service, ask, refusal } = await startAssistant(t);
  const args = { name: 'diary', text: 'rain all day' };
  assert.match(await refusal('append_to_note', args), /call again with create/);
  await ask('append_to_note', { ...args, create: true });
  assert.equal(await bodyOf(service, '/named/diary'), 'rain all day');
});

test('tasks: "買い物リストに牛乳を追加して。"', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: '買い物リスト', body: '卵\nパン' });
  const { items } = await ask('search_notes', { query: '買い物リスト' });
  await ask('append_to_note', { id: items[0].id, text: '牛乳' });
  assert.equal(await bodyOf(service, '/notes/1'), '卵\nパン\n牛乳');
});

test(`tasks: "Tick off 'call the bank': it is done, no longer a to-do."`, async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: 'Call the bank', tags: ['todo', 'money'] });
  const { items } = await ask('search_notes', { query: 'call the bank', tags: ['todo'] });
  await service.request('PATCH', '/notes/1', { json: { add_tags: ['urgent'] } });
  const { id } = items[0];
  const { tags } = await ask('tag_note', { id, add: ['done'], remove: ['todo'] });
  assert.deepEqual(tags.sort(), ['done', 'money', 'urgent']);
});

test('tasks: "Welche Aufgaben sind noch offen?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(
    service,
    { title: 'open', tags: ['todo'] },
    { title: 'over', tags: ['todo', 'done'] },
  );
  await store(service, { title: 'done', tags: ['done'] }, { title: 'none' });
  assert.deepEqual(titles(await ask('search_notes', { tags: ['todo'], not_tags: ['done'] })), [
    'open',
  ]);
});

/** Writes before and after a time, which it returns. */
async function changesAround(service: Service): Promise<string> {
  const { request } = service;
  await store(service, { title: 'early' }, { title: 'edited' }, { title: 'deleted' });
  const since = await later();
  await store(service, { title: 'new' });
  await request('PATCH', '/notes/2', { json: { body: 'changed' } });
  await request('DELETE', '/notes/3');
  await request('POST', '/notes/1/comments', { json: { body: 'comment' } });
  return since;
}

const told = ({ items }: { items: { type: string; title: string }[] }) =>
  items.map(({ type, title }) => `${type} ${title}`);

const LATER = ['created new', 'updated edited', 'deleted deleted'].map((each) => `note.${each}`);

test('tasks: "What changed since yesterday evening?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  const since = await changesAround(service);
  const changes = await ask('list_changes', { since });
  assert.deepEqual(told(changes), [...LATER, 'comment.created early']);
  assert.ok(changes.items.every(({ at }: { at: string }) => at >= since));
  assert.deepEqual((await ask('list_changes', { since: changes.next })).items, []);
});

test('tasks: "What changed today?"', async (t) => {
  const { service, ask } = await startAssistant(t);
  await changesAround(service);
  const changes = told(await ask('list_changes'));
  assert.deepEqual(changes.slice(0, 2), ['note.created early', 'note.created edited']);
  assert.deepEqual(changes.slice(3), [...LATER, 'comment.created early']);
});

test('tasks: comments are read and written, in German and in English', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: 'Umzug', name: 'Umzug' }, { title: 'Moving' });
  for (const body of ['Kisten', 'Auto', 'Schlüssel'])
    await service.request('POST', '/notes/1/comments', { json: { body } });
  // "Was steht in den Kommentaren zur Notiz 'Umzug'?"
  const { items } = await ask('search_notes', { query: 'Umzug' });
  const comments = await ask('list_comments', { id: items[0].id });
  assert.deepEqual(
    comments.items.map(({ body }: { body: string }) => body),
    ['Kisten', 'Auto', 'Schlüssel'],
  );
  assert.equal((await ask('list_comments', { name: 'Umzug' })).total, 3);
  // "Comment on the moving note that the van is booked."
  const found = await ask('search_notes', { query: 'moving' });
  await ask('add_comment', { id: found.items[0].id, text: 'The van is booked.' });
  const { json } = await service.request('GET', '/notes/2/comments');
  assert.deepEqual([json.total, json.items[0].body], [1, 'The van is booked.']);
});

test('tasks: "「会議」メモの「火曜日」を「水曜日」に直して。"', async (t) => {
  const { service, ask } = await startAssistant(t);
  await store(service, { title: '会議', body: '次は火曜日、場所は同じ' });
  const { items } = await ask('search_notes', { query: '会議' });
  await ask('edit_note', { id: items[0].id, old_text: '火曜日', new_text: '水曜日' });
  assert.equal(await bodyOf(service, '/notes/1'), '次は水曜日、場所は同じ');
});

test(`tasks: "Replace 'colour' by 'color' in the style guide."`, async (t) => {
  const { service, ask, refusal } = await startAssistant(t);
  await store(service, { title: 'Style guide', body: 'A colour. No colour\nThe colour of' });
  const text = await refusal('edit_note', { id: 1, old_text: 'colour', new_text: 'color' });
  assert.match(text, /more than once: 3 times\. Copy old_text from the body that get_note/);
  const { body } = await ask('get_note', { id: 1 });
  for (const old_text of ['A colour', 'No colour', 'The colour']) {
    assert.ok(body.includes(old_text));
    await ask('edit_note', { id: 1, old_text, new_text: old_text.replace('colour', 'color') });
  }
  assert.equal(await bodyOf(service, '/notes/1'), 'A color. No color\nThe color of');
});

test(`tasks: "Lege unter 'Projekte/Küche' eine Notiz an: Maße 3,20 x 2,40."`, async (t) => {
  const { service, ask, refusal } = await startAssistant(t);
  await store(service, { title: 'Küche', body: 'Ofen', name: 'Projekte/Küche' });
  const name = 'Projekte/Küche';
  const text = await refusal('create_note', { title: 'Küche', body: 'Maße 3,20 x 2,40', name });
  assert.match(text, /^name must be that of no other note\. .*append_to_note or edit_note/);
  await ask('append_to_note', { name, text: 'Maße 3,20 x 2,40' });
  assert.equal(await bodyOf(service, '/notes/1'), 'Ofen\nMaße 3,20 x 2,40');
});

test('tasks: "Show me everything in my Projects folder."', async (t) => {
  const { service, ask } = await startAssistant(t);
  for (const name of ['Projects/a', 'Projects/b/c', 'Projectsx', 'other'])
    await store(service, { title: name, name });
  const found = await ask('search_notes', { folder: 'Projects' });
  assert.deepEqual(titles(found).sort(), ['Projects/a', 'Projects/b/c']);
});
