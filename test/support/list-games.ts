// Random combinations of all parameters of lists, compared with a plain model in memory. A filter
// is one entry of ASKED, a value of `include` one of INCLUDED.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import { type Resource, rowColumnsOf } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import { openPath } from './databases.ts';
import { expectedPage, type Listed } from './page-checks.ts';
import { expected } from './records.ts';
import type { Service } from './service.ts';

/** A record with all members that it can have. */
interface Known extends Listed {
  readonly created: number | null;
  readonly updated: number | null;
  readonly links: readonly number[];
}

interface List {
  readonly path: string;
  readonly resource: Resource;
  readonly records: readonly Known[];
}

/** What a parameter asks for; without `keeps`, it keeps all records. */
interface Asked {
  readonly text: string;
  readonly keeps?: (record: Known) => boolean;
}

interface Query {
  readonly place: readonly [order: string, position: string];
  readonly fields: readonly string[];
  readonly include: readonly string[];
  readonly asked: readonly Asked[];
}

const NOTES = 40;
const TAGS = 6;
const COMMENTS = 12;
const WORDS = ['milk', 'bread', 'oats'];
/** The second has characters that a URL, a JSON text and a header write in another way. */
const NAMES = ['errands', 'a, b;"c"> <é+%😀\u0000'];

/** Several records have the same time, some have none, and the clock has been set back. */
const TIMES = [5_000, 5_000, 5_001, 4_000, null, 9_000, 5_001, 5_000, 253_400_000_000_000, 0];

const nameOf = (id: number) =>
  id % 3 ? null : `${id % 2 ? 'Küche' : 'Küche 2'}${id % 4 > 1 ? '/' : '-'}${(id * 7) % 40} &?%😀`;

/** Of several tags with a name, a filter means this one; 0 if there is none. */
const lowestIdOf = (name: string) => {
  const ids = Array.from({ length: TAGS }, (_, index) => index + 1);
  return ids.find((id) => at(NAMES, id) === name) ?? 0;
};

const at = <Value>(values: readonly Value[], index: number) =>
  values[index % values.length] as Value;

/** Fills an empty service; resolves with its lists. */
async function fill(service: Service): Promise<List[]> {
  const create = async (path: string, json: object) => {
    const { status } = await service.request('POST', path, { json });
    assert.equal(status, 201);
  };
  const linksOf = (note: number) =>
    Array.from({ length: TAGS }, (_, index) => index + 1).filter((tag) => note % (tag + 1) === 0);
  const notesOf = (tag: number) =>
    Array.from({ length: NOTES }, (_, index) => index + 1).filter((id) =>
      linksOf(id).includes(tag),
    );
  const tagFields = (id: number) => ({ name: at(NAMES, id) });
  const noteFields = (id: number) => ({
    title: at(WORDS, id),
    body: `a ${at(WORDS, id * id + 1)}`,
  });
  const commentFields = (id: number) => ({ note_id: 3, body: `comment ${id}` });
  for (let id = 1; id <= TAGS; id += 1) await create('/tags', tagFields(id));
  for (let id = 1; id <= NOTES; id += 1)
    await create('/notes', { ...noteFields(id), tag_ids: linksOf(id) });
  for (let id = 1; id <= COMMENTS; id += 1)
    await create('/notes/3/comments', { body: commentFields(id).body });
  await create('/notes/4/comments', { body: 'of another note' });
  // The order of the changes is another one. Tags on notes change neither it nor a note.
  const put = async (path: string, id: number, json: object) =>
    assert.equal((await service.request('PUT', `${path}/${id}`, { json })).status, 200);
  for (const id of [20, 2, 9, 40, 7]) await put('/notes', id, noteFields(id));
  for (const id of [5, 1]) await put('/tags', id, tagFields(id));
  for (const id of [6, 2]) await put('/notes/3/comments', id, { body: commentFields(id).body });
  for (const method of ['DELETE', 'PUT']) await service.request(method, '/notes/24/tags/1');

  const timesOf = (id: number) => [at(TIMES, id), at(TIMES, id * 3 + 1)] as const;
  const database = await openPath(service.file);
  for (const [{ table }, count] of [
    [notes, NOTES],
    [tags, TAGS],
    [comments, COMMENTS],
  ] as const) {
    const rows = Array.from({ length: count }, (_, index) => [index + 1, ...timesOf(index + 1)]);
    const sql = `
      UPDATE ${table} SET created_at = sent.value ->> 1, updated_at = sent.value ->> 2
      FROM json_each(?1) AS sent WHERE ${table}.id = sent.value ->> 0`;
    await database.transact([{ sql, parameter: JSON.stringify(rows) }]);
  }
  const named = Array.from({ length: NOTES }, (_, index) => [index + 1, nameOf(index + 1)]);
  const sql = `
    INSERT INTO note_names (note_id, name)
    SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE value ->> 1 IS NOT NULL`;
  await database.transact([{ sql, parameter: JSON.stringify(named) }]);
  await database.close();

  const known = async (path: string, id: number, fields: object, more: object, links: number[]) => {
    const etag = String((await service.request('GET', `${path}/${id}`)).headers.etag);
    const [created, updated] = timesOf(id);
    const [created_at, updated_at] = [created, updated].map((ms) =>
      ms === null ? null : new Date(ms).toISOString(),
    );
    const item = { ...expected({ id, ...fields }), id, ...more, created_at, updated_at, etag };
    return { item, number: Number(/-(\d+)"/.exec(etag)?.[1]), created, updated, links };
  };
  const all = (count: number, read: (id: number) => Promise<Known>) =>
    Promise.all(Array.from({ length: count }, (_, index) => read(index + 1)));
  const everyNote = await all(NOTES, (id) => {
    const links = linksOf(id);
    const names = new Set(links.map((tag) => tagFields(tag).name));
    const more = { tag_ids: links, tags: [...names], name: nameOf(id) };
    return known('/notes', id, noteFields(id), more, links);
  });
  const everyTag = await all(TAGS, (id) =>
    known('/tags', id, tagFields(id), { notes_count: notesOf(id).length }, notesOf(id)),
  );
  const everyComment = await all(COMMENTS, (id) =>
    known('/notes/3/comments', id, commentFields(id), {}, []),
  );
  const linkedTo = (records: readonly Known[], id: number) =>
    records.filter(({ links }) => links.includes(id));
  return [
    { path: '/notes', resource: notes, records: everyNote },
    { path: '/tags/2/notes', resource: notes, records: linkedTo(everyNote, 2) },
    { path: '/tags', resource: tags, records: everyTag },
    { path: '/notes/12/tags', resource: tags, records: linkedTo(everyTag, 12) },
    { path: '/notes/1/tags', resource: tags, records: [] },
    { path: '/notes/3/comments', resource: comments, records: everyComment },
  ];
}

/** A time near those of the records, with any offset: the value counts half milliseconds. */
const times = fc
  .record({
    ms: fc.constantFrom(...TIMES),
    shift: fc.integer({ min: -3, max: 3 }),
    hours: fc.integer({ min: -23, max: 23 }),
  })
  .map(({ ms, shift, hours }) => {
    const value = (ms ?? 4_500) + shift / 2;
    const local = new Date(Math.floor(value) + hours * 3_600_000).toISOString().replace('Z', '');
    const offset = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
    return {
      value,
      text: encodeURIComponent(`${local}${Number.isInteger(value) ? '' : '5'}${offset}`),
    };
  });

const timeFilter = (name: 'created' | 'updated', end: 'after' | 'before') =>
  times.map(({ value, text }): Asked => {
    const sign = end === 'after' ? 1 : -1;
    const keeps = (record: Known) =>
      record[name] !== null && sign * (Number(record[name]) - value) > 0;
    return { text: `${name}_${end}=${text}`, keeps };
  });

const TIME_FILTERS = (['created', 'updated'] as const).flatMap((name) =>
  (['after', 'before'] as const).map((end) => timeFilter(name, end)),
);

/** By resource: the filters of its lists, and the values of `include` with their members. */
const ASKED: Readonly<Record<string, readonly fc.Arbitrary<Asked>[]>> = {
  notes: [
    ...TIME_FILTERS,
    fc
      .uniqueArray(fc.integer({ min: 1, max: TAGS + 1 }), { minLength: 1, maxLength: 2 })
      .map((ids) => ({
        text: `tag_id=${ids}`,
        keeps: ({ links }) => ids.every((id) => links.includes(id)),
      })),
    fc
      .uniqueArray(fc.constantFrom(...NAMES, 'unknown'), { minLength: 1, maxLength: 2 })
      .map((names) => ({
        text: names.map((name) => `tag=${encodeURIComponent(name)}`).join('&'),
        keeps: ({ links }) => names.every((name) => links.includes(lowestIdOf(name))),
      })),
    fc
      .uniqueArray(fc.integer({ min: 1, max: TAGS + 1 }), { minLength: 1, maxLength: 2 })
      .map((ids) => ({
        text: `not_tag_id=${ids}`,
        keeps: ({ links }) => !ids.some((id) => links.includes(id)),
      })),
    fc
      .uniqueArray(fc.constantFrom(...NAMES, 'unknown'), { minLength: 1, maxLength: 2 })
      .map((names) => ({
        text: names.map((name) => `not_tag=${encodeURIComponent(name)}`).join('&'),
        keeps: ({ links }) => !names.some((name) => links.includes(lowestIdOf(name))),
      })),
    fc.constantFrom('Küche', 'Ku\u0308che 2/', 'Küche 2/x').map((folder) => ({
      text: `folder=${encodeURIComponent(folder)}`,
      keeps: ({ item }) => `${item.name}`.startsWith(`${folder.normalize().replace(/\/$/, '')}/`),
    })),
    fc.constantFrom(true, false).map((named) => ({
      text: `named=${named}`,
      keeps: ({ item }) => (item.name !== null) === named,
    })),
    fc.constant({ text: 'untagged=true', keeps: ({ links }) => links.length === 0 }),
    fc.constantFrom(...WORDS).map((word) => ({
      text: `q=${word}`,
      keeps: ({ item }) => `${item.title} ${item.body}`.includes(word),
    })),
  ],
  tags: [
    ...TIME_FILTERS,
    fc.constantFrom(...NAMES).map((name) => ({
      text: `name=${encodeURIComponent(name)}`,
      keeps: ({ item }) => item.name === name,
    })),
  ],
  comments: TIME_FILTERS,
};

const TIMES_ADDED = { times: ['created_at', 'updated_at'], etag: ['etag'] };
const INCLUDED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  notes: { tag_ids: ['tag_ids'], tags: ['tags'], name: ['name'], ...TIMES_ADDED },
  tags: { notes_count: ['notes_count'], ...TIMES_ADDED },
  comments: TIMES_ADDED,
};

const key = fc.integer({ min: 0, max: 130 });
const position = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 0, max: 50 }).map((offset) => `offset=${offset}`),
  key.map((each) => `after=${each}`),
  key.map((each) => `before=${each}`),
);

/** An order with a position in it. */
const byKey = fc.tuple(fc.constantFrom('id', '-id', 'updated', '-updated'), position);
const nameKey = fc.integer({ min: 0, max: NOTES }).map((id) => encodeURIComponent(`${nameOf(id)}`));
const byName = fc.tuple(
  fc.constantFrom('name', '-name'),
  fc.oneof(
    fc.integer({ min: 0, max: 20 }).map((offset) => `offset=${offset}`),
    nameKey.map((each) => `after_name=${each}`),
    nameKey.map((each) => `before_name=${each}`),
  ),
);

const queryOf = ({ resource: { table }, resource }: List): fc.Arbitrary<Query> =>
  fc.record({
    // A search without an order would be by rank.
    place: table === 'notes' ? fc.oneof(byKey, byKey, byName) : byKey,
    fields: fc.subarray([...rowColumnsOf(resource)]),
    include: fc.subarray(Object.keys(INCLUDED[table] ?? {})),
    asked: fc
      .tuple(...(ASKED[table] ?? []).map((each) => fc.option(each, { freq: 2, nil: undefined })))
      .map((all) => all.filter((each) => each !== undefined)),
  });

function project({ table }: Resource, { fields, include }: Query, item: Listed['item']) {
  const added = include.flatMap((name) => INCLUDED[table]?.[name] ?? []);
  const isWhole = fields.length === 0;
  const isKept = (name: string) => {
    const isAdded = Object.values(INCLUDED[table] ?? {}).some((names) => names.includes(name));
    return isAdded ? added.includes(name) : isWhole || fields.includes(name);
  };
  return Object.fromEntries(Object.entries(item).filter(([name]) => isKept(name)));
}

async function assertRight(service: Service, list: List, query: Query): Promise<void> {
  const {
    place: [order, position],
    fields,
    include,
    asked,
  } = query;
  const choices = [`fields=${fields}`, `include=${include}`].filter((each) => !each.endsWith('='));
  const filters = asked.map(({ text }) => text);
  const parameters = ['limit=7', `order=${order}`, position, ...filters, ...choices].filter(
    Boolean,
  );
  const path = `${list.path}?${parameters.join('&')}`;
  const isListed = ({ item }: Known) => !order.endsWith('name') || item.name !== null;
  const kept = list.records.filter(
    (record) => isListed(record) && asked.every(({ keeps }) => keeps?.(record) ?? true),
  );
  const { body, link } = expectedPage(kept, `${service.url}${path}`);
  const items = (body.items as Listed['item'][]).map((item) => project(list.resource, query, item));
  const { status, text, headers } = await service.request('GET', path);
  assert.equal(status, 200, `${path}: ${text}`);
  // As texts, because the order of the members counts.
  assert.equal(text, JSON.stringify({ ...body, items }), path);
  assert.equal(headers.link, link, path);
}

/** Fills an empty service and plays as many random queries on each of its lists. */
export async function playListGames(service: Service, numRuns: number): Promise<void> {
  for (const list of await fill(service)) {
    const property = fc.asyncProperty(queryOf(list), (query) => assertRight(service, list, query));
    await fc.assert(property, { numRuns });
  }
}
