// Records with only some of their fields, and with their entity tags.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_PAGE_BYTES } from '../../../src/storage/database.ts';
import { at } from '../../support/contract.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { openStream } from '../../support/event-stream.ts';
import { startService } from '../../support/service.ts';

const OWN_TAG = /^"[0-9a-f]{8}-\d+"$/;
const LIST_TAG = /^"[0-9a-f]{8}\.\d+"$/;

async function fill(service: Target): Promise<void> {
  for (const [path, json] of [
    ['/tags', { name: 'errands' }],
    ['/notes', { title: 'Milk', body: 'and "bread"', tag_ids: [1] }],
    ['/notes', { title: 'Oats', body: 'no milk' }],
    ['/notes/1/comments', { body: 'soon' }],
  ] as const)
    assert.equal((await service.request('POST', path, { json })).status, 201);
}

/** Resolves with the text of the records of a list, or of the record, at `path`. */
async function textAt(service: Target, path: string): Promise<string> {
  const { status, text } = await service.request('GET', path);
  assert.equal(status, 200, `${path}: ${text}`);
  return text.replace(/^\{"items":\[(.*)\],"limit".*$/, '$1');
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  test(`fields: only these, in the order of the record (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    for (const [path, text] of [
      ['/notes?fields=title,id', '{"id":1,"title":"Milk"},{"id":2,"title":"Oats"}'],
      ['/notes?fields=body&limit=1', '{"body":"and \\"bread\\""}'],
      ['/notes?fields=id,id&order=-updated', '{"id":2},{"id":1}'],
      ['/notes?fields=title&fields=id&after=1', '{"id":2,"title":"Oats"}'],
      [
        '/notes?fields=title&include=tag_ids',
        '{"title":"Milk","tag_ids":[1]},{"title":"Oats","tag_ids":[]}',
      ],
      ['/notes?q=milk&fields=title', '{"title":"Milk"},{"title":"Oats"}'],
      ['/notes?q=oats&fields=id&order=id', '{"id":2}'],
      ['/tags/1/notes?fields=id', '{"id":1}'],
      ['/tags?fields=name', '{"name":"errands"}'],
      ['/notes/1/tags?fields=id&include=notes_count', '{"id":1,"notes_count":1}'],
      ['/notes/1/comments?fields=note_id', '{"note_id":1}'],
      ['/notes/1?fields=title', '{"title":"Milk"}'],
      ['/notes/1?fields=id&include=tag_ids', '{"id":1,"tag_ids":[1]}'],
      ['/notes/1?fields=id&include=characters', '{"id":1,"characters":11}'],
      ['/tags/1?fields=id', '{"id":1}'],
      ['/notes/1/comments/1?fields=body,id', '{"id":1,"body":"soon"}'],
    ] as const)
      assert.equal(await textAt(service, path), text, path);
    assert.equal(await textAt(service, '/notes?fields='), await textAt(service, '/notes'));
    assert.equal((await service.request('GET', '/notes/9?fields=id')).status, 404);
  });

  test(`fields: of the records of changes (${deployment})`, async (t) => {
    const service = await start(t);
    const since = (await service.request('GET', '/changes')).json.next;
    await fill(service);
    await service.request('DELETE', '/notes/2');
    const records = async (fields: string) => {
      const path = `/changes?since=${since}&include=record&fields=${fields}`;
      const { json } = await service.request('GET', path);
      return json.items.map(({ record }: { record: object }) => record);
    };
    const [tag, note, comment] = [{}, { title: 'Milk', body: 'and "bread"' }, { body: 'soon' }];
    assert.deepEqual(await records('body,title'), [tag, note, note, null, comment, null]);
    const ids = [{ id: 1, name: 'errands' }, { id: 1 }, { id: 1 }, null, { id: 1 }, null];
    assert.deepEqual(await records('name,id'), ids);
    const path = `/changes?since=${since}&include=record&fields=id`;
    const [first] = await (await openStream(t, service.url, path)).changes(1);
    assert.deepEqual(first?.record, { id: 1 });
  });

  test(`etag: of each record, ready for if-match (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    for (const [list, path] of [
      ['/notes', '/notes/1'],
      ['/notes?order=-updated&fields=id', '/notes/1'],
      ['/notes?q=bread', '/notes/1'],
      ['/tags/1/notes', '/notes/1'],
      ['/tags', '/tags/1'],
      ['/notes/1/tags', '/tags/1'],
      ['/notes/1/comments', '/notes/1/comments/1'],
    ] as const) {
      const { json } = await service.request(
        'GET',
        `${list}${list.includes('?') ? '&' : '?'}include=etag`,
      );
      const { etag, ...item } = json.items.find(({ id }: { id: number }) => id === 1);
      assert.match(etag, OWN_TAG);
      const single = await service.request('GET', `${path}?include=etag`);
      assert.deepEqual([single.headers.etag, single.json.etag], [etag, etag], path);
      assert.equal((await service.request('GET', path)).headers.etag, etag, path);
      // What changes nothing would leave the tag as it is.
      const field = path.startsWith('/tags') ? 'name' : 'body';
      const changed = field in item ? { [field]: `${item[field]} again` } : {};
      const patch = { json: { ...item, ...changed, etag }, headers: { 'if-match': etag } };
      assert.equal((await service.request('PATCH', path, patch)).status, 200, path);
      const outdated = await service.request('PATCH', path, patch);
      assert.equal(outdated.status, field in item ? 412 : 200, path);
    }
  });
}

test('etag: a single record has its own, unless other records can change it', async (t) => {
  const service = await startService(t);
  await fill(service);
  for (const [path, isOwn] of [
    ['/notes/1?include=times', true],
    ['/notes/1?include=times,etag&fields=title', true],
    ['/notes/1?fields=body', true],
    ['/notes/1?include=', true],
    ['/notes/1?include=tag_ids,etag', false],
    ['/notes/1?include=tag_ids&fields=id', false],
    ['/tags/1?include=etag', true],
    ['/tags/1?include=notes_count', false],
    ['/notes/1/comments/1?include=times', true],
  ] as const) {
    const { headers, text } = await service.request('GET', path);
    const tag = String(headers.etag);
    assert.match(tag, isOwn ? OWN_TAG : LIST_TAG, path);
    const read = (name: string, value: string) =>
      service.request('GET', path, { headers: { [name]: value } });
    assert.equal((await read('if-none-match', tag)).status, 304, path);
    assert.equal((await read('if-none-match', '"00000000-1"')).text, text, path);
    assert.equal((await read('if-match', tag)).status, 200, path);
    assert.equal((await read('if-match', '"00000000-1"')).status, 412, path);
    // A change of another record.
    await service.request('PATCH', '/notes/2', { json: { body: path } });
    const after = (await service.request('GET', path)).headers.etag;
    assert.equal(after === tag, isOwn, path);
  }
});

test('fields: unknown names are 422, with a suggestion', async (t) => {
  const service = await startService(t);
  await fill(service);
  const oneOf = (parameter: string) => {
    const values = at(`/components/parameters/${parameter}/schema/items/enum`) as string[];
    return `must be one of ${values.map((value) => `"${value}"`)}`;
  };
  const [notes, any] = [oneOf('NoteFields'), oneOf('ChangesFields')];
  const maxFields = at('/components/parameters/NoteFields/schema/maxItems') as number;
  for (const [path, code, detail, field = 'fields'] of [
    ['/notes?fields=id,tittle', 'enum', `${notes}; did you mean title?`],
    ['/notes?fields=Body', 'enum', `${notes}; did you mean body?`],
    ['/notes?fields=name', 'enum', notes],
    ['/notes?fields=id,', 'enum', notes],
    [
      `/notes?fields=id${',id'.repeat(maxFields)}`,
      ...(['maxItems', `must have at most ${maxFields} items`] as const),
    ],
    ['/notes/1?fields=snippet', 'enum', notes],
    ['/notes/1/comments?fields=noteid', 'enum', `${oneOf('CommentFields')}; did you mean note_id?`],
    ['/tags?include=etags', 'enum', `${oneOf('TagInclude')}; did you mean etag?`, 'include'],
    ['/changes?include=record&fields=names', 'enum', `${any}; did you mean name?`],
    ['/changes?fields=id', 'dependentRequired', 'must not be given without include=record'],
  ] as const) {
    const { status, json } = await service.request('GET', path);
    assert.deepEqual([status, json.errors], [422, [{ field, in: 'query', code, detail }]], path);
  }
  for (const path of ['/notes', '/tags/1']) {
    const { json } = await service.request('POST', `${path}?fields=id`, { json: {} });
    assert.notEqual(json.status, 201);
  }
  const headers = { accept: 'text/event-stream' };
  const stream = await service.request('GET', '/changes?fields=id', { headers });
  assert.equal(stream.status, 422);
});

test('fields: snippets come from the texts that records leave out', async (t) => {
  const service = await startService(t);
  await fill(service);
  const hit = { text: 'and "bread"', ranges: [[5, 10]] };
  for (const fields of ['id', 'title', 'body', 'id,title,body']) {
    const path = `/notes?q=bread&include=etag,snippet&fields=${fields}`;
    const { json } = await service.request('GET', path);
    const { etag, snippet, ...rest } = json.items[0];
    assert.deepEqual([snippet, Object.keys(rest)], [hit, fields.split(',')]);
    assert.match(etag, OWN_TAG);
  }
  // Six bytes for each character in JSON.
  const body = `bread ${'\u0001'.repeat(99_000)}`;
  const count = Math.ceil(MAX_PAGE_BYTES / (6 * body.length));
  for (let index = 0; index < count; index += 1)
    await service.request('POST', '/notes', { json: { title: '"snippet":{', body } });
  const large = '/notes?q=bread&order=id&include=snippet';
  const whole = await service.request('GET', large);
  for (const fields of ['id', 'title,body']) {
    const { json } = await service.request('GET', `${large}&fields=${fields}`);
    const expected = whole.json.items.map((item: Record<string, unknown>) =>
      Object.fromEntries([...fields.split(','), 'snippet'].map((name) => [name, item[name]])),
    );
    assert.deepEqual(json.items, expected);
  }
});
