// Notes with tags and comments, created, changed and deleted in an order of their own, and walks
// through all lists of them: all pages, their totals and links, by offset and by key.
import assert from 'node:assert/strict';
import type { Target } from './deployments.ts';
import type { Answer, RequestParts } from './http.ts';
import { assertPage, assertWalk, type Listed } from './page-checks.ts';

interface ListUnderTest {
  readonly path: string;
  readonly records: readonly Listed[];
}

/** How many notes, tags and comments are created; some notes and comments are deleted again. */
const NOTES = 26;
const TAGS = 12;
const COMMENTS = 12;

/** A name with characters that a URL, a JSON text and a header write in another way. */
const ODD_NAME = 'a, b;"c"> <é+%😀\u0000';

class Collection {
  readonly #service: Target;
  readonly #path: string;
  readonly #records = new Map<number, Listed>();

  constructor(service: Target, path: string) {
    this.#service = service;
    this.#path = path;
  }

  where(isIn: (id: number) => boolean): Listed[] {
    return [...this.#records.values()].filter(({ item }) => isIn(item.id));
  }

  async send(method: string, id: number | undefined, parts: RequestParts = {}): Promise<Answer> {
    const target = id === undefined ? this.#path : `${this.#path}/${id}`;
    const answer = await this.#service.request(method, target, parts);
    assert.ok(answer.status < 300, `${method} ${target}: ${answer.text}`);
    const number = Number(/-(\d+)"$/.exec(String(answer.headers.etag))?.[1]);
    if (answer.json) this.#records.set(answer.json.id, { item: answer.json, number });
    else if (id !== undefined) this.#records.delete(id);
    return answer;
  }
}

/** Fills an empty service; resolves with its lists. Note `n` has the tags whose ids divide `n`. */
async function fillWithTaggedNotes(service: Target): Promise<ListUnderTest[]> {
  const notes = new Collection(service, '/notes');
  const tags = new Collection(service, '/tags');
  const comments = new Collection(service, '/notes/3/comments');
  for (let id = 1; id <= TAGS; id += 1) {
    const name = id === 5 ? ODD_NAME : id % 4 === 0 ? 'shared' : `tag ${id}`;
    await tags.send('POST', undefined, { json: { name } });
  }
  const divisors = (id: number) =>
    Array.from({ length: TAGS }, (_, index) => index + 1).filter((tag) => id % tag === 0);
  for (let id = 1; id <= NOTES; id += 1) {
    // Every fifth note stays without tags.
    const json = { title: `note ${id}`, body: 'text', tag_ids: id % 5 === 0 ? [] : divisors(id) };
    await notes.send('POST', undefined, { json });
  }
  for (let id = 1; id <= COMMENTS; id += 1)
    await comments.send('POST', undefined, { json: { body: `comment ${id}` } });
  await service.request('POST', '/notes/4/comments', { json: { body: 'of another note' } });

  for (const id of [20, 2, 9]) await notes.send('PUT', id, { json: { title: 'put', body: 'b' } });
  for (const id of [7, 20, 1, 26]) await notes.send('PATCH', id, { json: { title: `${id}` } });
  for (const id of [8, 19]) await notes.send('DELETE', id);
  for (const id of [9, 1]) await tags.send('PATCH', id, { json: { name: `new ${id}` } });
  await tags.send('DELETE', 11);
  for (const id of [6, 2]) await comments.send('PUT', id, { json: { body: 'put' } });
  await comments.send('DELETE', 4);
  // Links change no note: neither its number nor its place in the order of changes.
  await service.request('PUT', '/notes/25/tags/10');
  await service.request('DELETE', '/notes/24/tags/12');

  const has = (note: number, tag: number) =>
    (note === 25 && tag === 10) ||
    (note % 5 !== 0 && note % tag === 0 && tag !== 11 && !(note === 24 && tag === 12));
  const withTags = (...ids: number[]) => notes.where((note) => ids.every((tag) => has(note, tag)));
  const named = (name: string) => tags.where(() => true).filter(({ item }) => item.name === name);
  return [
    { path: '/notes', records: notes.where(() => true) },
    { path: '/notes?tag_id=1', records: withTags(1) },
    { path: '/notes?tag_id=2&tag_id=3', records: withTags(2, 3) },
    { path: '/notes?tag_id=2&tag_id=2', records: withTags(2) },
    { path: '/notes?tag_id=11', records: [] },
    { path: '/notes?tag_id=9007199254740991', records: [] },
    { path: '/notes?tag_id=1&tag_id=77', records: [] },
    { path: '/notes?tag=shared', records: withTags(4) },
    { path: `/notes?tag=${encodeURIComponent(ODD_NAME)}`, records: withTags(5) },
    { path: '/notes?tag=tag%203&tag=tag%202&tag_id=1', records: withTags(1, 2, 3) },
    { path: '/notes?tag=Shared', records: [] },
    { path: '/notes?tag=new%201&tag=nobody', records: [] },
    { path: '/tags/2/notes?tag=tag%203', records: withTags(2, 3) },
    { path: '/notes?untagged=true', records: notes.where((id) => id % 5 === 0 && id !== 25) },
    { path: '/notes?untagged=true&tag_id=1', records: [] },
    { path: '/tags/10/notes', records: withTags(10) },
    { path: '/tags/2/notes', records: withTags(2) },
    { path: '/tags/2/notes?tag_id=3&tag_id=1', records: withTags(1, 2, 3) },
    { path: '/tags/7/notes?untagged=true', records: [] },
    { path: '/tags', records: tags.where(() => true) },
    { path: '/tags?name=shared', records: named('shared') },
    { path: `/tags?name=${encodeURIComponent(ODD_NAME)}`, records: named(ODD_NAME) },
    { path: '/tags?name=Shared', records: [] },
    { path: '/notes/12/tags', records: tags.where((tag) => has(12, tag)) },
    {
      path: '/notes/12/tags?name=shared',
      records: named('shared').filter((each) => has(12, each.item.id)),
    },
    { path: '/notes/5/tags', records: [] },
    { path: '/notes/3/comments', records: comments.where(() => true) },
    { path: '/notes/5/comments', records: [] },
  ];
}

function withQuery(path: string, ...parameters: readonly string[]): string {
  const all = parameters.filter(Boolean).join('&');
  return all === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${all}`;
}

/** All orders of lists; the first is the default. */
export const ORDERS = ['', 'order=id', 'order=-id', 'order=updated', 'order=-updated'];

/** Offsets and keys: of records, of deleted and missing ones, at both ends and beyond. */
const POSITIONS = [
  ...['offset=0', 'offset=3', 'offset=1000', 'offset=9007199254740991', 'after=0', 'before=0'],
  ...['after=8', 'before=8', 'after=1', 'before=1', 'after=26', 'before=27', 'after=40'],
  ...['before=1000', 'after=1000', 'after=9007199254740990', 'before=9007199254740990'],
  ...['after=007', 'before=%31%30'],
];

async function assertList(
  service: Target,
  { path, records }: ListUnderTest,
  shift: number,
  orders: number,
): Promise<void> {
  await assertWalk(service, withQuery(path, 'limit=100'), records);
  for (const [index, order] of ORDERS.entries()) {
    if ((index + shift) % ORDERS.length >= orders) continue;
    const pages = await assertWalk(service, withQuery(path, 'limit=5', order), records);
    assert.equal(pages, Math.max(1, Math.ceil(records.length / 5)));
    const some = POSITIONS.filter((_, each) => (each + shift + index) % 4 === 0);
    for (const position of some)
      await assertPage(service, withQuery(path, position, order, 'limit=3'), records);
  }
}

/** Fills an empty service and walks each of its lists in as many `orders`, which take turns. */
export async function walkAllLists(service: Target, orders: number): Promise<void> {
  const lists = await fillWithTaggedNotes(service);
  await Promise.all(lists.map((each, index) => assertList(service, each, index, orders)));
}
