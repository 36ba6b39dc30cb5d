// The statements that the service sends to its database, as readers and `npm run sql` see them.
import { ChangeFeed } from '../../src/changes/feed.ts';
import { exportTexts } from '../../src/commands/export.ts';
import { EMPTY_LOG } from '../../src/commands/import.ts';
import { rewrite } from '../../src/edits/rewrites.ts';
import type { Core } from '../../src/feature.ts';
import { ERASE, IS_LEFT } from '../../src/history/erasure.ts';
import { keepFor } from '../../src/history/feature.ts';
import { LATEST, readKept, TRASH, VERSIONS } from '../../src/history/kept.ts';
import { type KeptInput, listKept } from '../../src/history/kept-pages.ts';
import {
  EMPTY_TRASH,
  ERASE_NOTE,
  ERASE_VERSIONS,
  ERASURES,
  LAST_VERSION,
  onNote,
  onRows,
  RESTORE,
  THINNING,
} from '../../src/history/writes.ts';
import { filterValues } from '../../src/lists/parts.ts';
import { createFinder } from '../../src/names/named-notes.ts';
import { isOneOf } from '../../src/records/condition.ts';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { tags } from '../../src/resources/tags.ts';
import { KeyClock } from '../../src/retries/feature.ts';
import { purgeOf } from '../../src/search/purge.ts';
import { SEARCHABLE } from '../../src/search/steps.ts';
import { type Database, MAX_PAGE_BYTES } from '../../src/storage/database.ts';
import { createWriter, NO_MEMORY } from '../../src/storage/writer.ts';
import { createNoteTags } from '../../src/tags/note-tags.ts';
import { EMPTY_CALL } from './bare-server.ts';
import type { HeardStatement } from './databases.ts';
import type { Ends } from './engine.ts';
import { MEMORY } from './engines.ts';
import { openIndexed } from './search-index.ts';
import { listsOf, tableOf } from './tables.ts';

/** A statement, and the call that sends it. */
export interface NamedStatement {
  readonly name: string;
  readonly statement: HeardStatement;
}

const ORDERS = ['id', '-id', 'updated', '-updated'];
const TIMES = { created_after: '2026-01-01T00:00:00Z', updated_before: '2027-01-01T00:00:00Z' };

/** The parameters of lists, each with a filter, and those with filters that work together. */
const FILTERS = new Map<Resource, readonly Readonly<Record<string, unknown>>[]>([
  [
    notes,
    [
      ...[{ tag_id: [1] }, { tag: ['a'], tag_id: [2] }, { untagged: 'true' }, { named: 'true' }],
      ...[{ folder: 'a' }, { folder: 'a', tag: ['a'] }, { order: 'name' }],
      ...[{ not_tag: ['a'] }, { not_tag: ['a'], not_tag_id: [1] }, { tag: ['a'], not_tag: ['b'] }],
      ...[{ created_after: TIMES.created_after }, { updated_before: TIMES.updated_before }],
      ...[TIMES, { tag: ['a'], ...TIMES }, { q: 'a' }, { q: 'a', tag_id: [1] }],
    ],
  ],
  [tags, [{ name: 'a' }, TIMES]],
  [comments, [TIMES]],
]);

const INCLUDED = ['tag_ids', 'tags', 'notes_count', 'times', 'etag', 'name', 'snippet'];

/** Three of them are too large for one text. */
const LARGE = 'a'.repeat(MAX_PAGE_BYTES / 2);

const DAY_MS = 86_400_000;

/** Calls the storage, and keeps the statements that it sends under a name. */
type Hear = (name: string, call: () => unknown) => Promise<void>;

/** Resolves with all statements in the order of the calls, each once. */
export async function collectStatements(test: Ends): Promise<NamedStatement[]> {
  const { heard, index } = await openIndexed(test, MEMORY);
  const { database } = heard;
  const found = new Map<string, NamedStatement>();
  const hear: Hear = async (name, call) => {
    const [reads, writes] = [heard.reads.length, heard.transactions.length];
    await call();
    const written = heard.transactions.slice(writes).flatMap(({ statements }) => statements);
    const sent = [...heard.reads.slice(reads), ...written];
    for (const [position, statement] of sent.entries()) {
      const place = sent.length > 1 ? ` (${position + 1} of ${sent.length})` : '';
      if (!found.has(statement.sql))
        found.set(statement.sql, { name: `${name}${place}`, statement });
    }
  };
  for (const resource of RESOURCES) await hearRecords(resource, database, hear);
  await hearNames(database, hear);
  await hearTags(database, hear);
  await hear('notes: append or edit', () =>
    rewrite(createWriter(database), 1, null, undefined, 'a'),
  );
  await hearHistory(database, hear);
  await hear('search index: step', () => index.catchUp());
  for (const { state, kind } of SEARCHABLE.map(purgeOf)) {
    await hear('search index: state', () => database.read(state));
    await hear('search index: merge', () =>
      createWriter(database)(kind, { rows: [[-1]], claims: [[0]] }),
    );
  }
  for (const resource of RESOURCES) await hearLists(resource, database, hear);
  await database.transact([EMPTY_LOG]);
  await tableOf(notes, database).create([{}]);
  await hear('search index: restart', () => index.catchUp());
  const feed = new ChangeFeed(database);
  await hear('changes: last cursor', () => feed.lastCursor());
  const after = await feed.lastCursor();
  await hear('changes: from a time on', () => feed.cursorAt(0));
  const types = ['note.created'];
  await hear('changes: of a type', () =>
    feed.read({ after, limit: 10, withRecords: false, types }),
  );
  await hear('changes: read', () => feed.read({ after, limit: 10, withRecords: false }));
  await hear('changes: read with records', () =>
    feed.read({ after, limit: 10, withRecords: true }),
  );
  await hear('export', async () => {
    for await (const _ of exportTexts(database));
  });
  await hear('keys: the clock is set forward', () => {
    const clock = new KeyClock();
    const { now } = Date;
    Date.now = () => now() + DAY_MS;
    const statements = clock.begin();
    Date.now = now;
    return database.transact(statements);
  });
  return [...found.values()];
}

async function hearRecords(resource: Resource, database: Database, hear: Hear): Promise<void> {
  const { table: name, owner } = resource;
  const table = tableOf(resource, database);
  const ownerId = owner && 1;
  const once = { key: 'key', fingerprint: 'fingerprint' };
  await hear(`${name}: create`, () => table.create([{}], ownerId));
  await hear(`${name}: create with a key`, () => table.create([{}], ownerId, once));
  await hear(`${name}: create with times`, () =>
    table.createWith([{}], { times: [[0, 1]] }, ownerId),
  );
  await hear(`${name}: read`, () => table.read(1, ownerId));
  await hear(`${name}: replace`, () => table.replace(1, {}, ownerId));
  await hear(`${name}: patch`, () => table.change(1, [null], ownerId));
  await hear(`${name}: delete`, () => table.remove(2, ownerId));
}

function coreOf(database: Database): Core {
  const write = createWriter(database);
  return { database, memory: NO_MEMORY, write, meters: undefined };
}

async function hearNames(database: Database, hear: Hear): Promise<void> {
  const table = tableOf(notes, database);
  const find = createFinder(coreOf(database));
  await hear('notes: create with a name', () => table.createWith([{}], { name: 'a' }));
  await hear('notes: find by name', () => find('a'));
}

async function hearHistory(database: Database, hear: Hear): Promise<void> {
  const slow = { run: <Answer>(read: () => Promise<Answer>) => read() };
  for (const kept of [TRASH, VERSIONS]) {
    for (const position of ['', 'after', 'before']) {
      const parameters = { note_id: 1, limit: 20, offset: 0, [position]: 1 };
      const input = { parameters, call: EMPTY_CALL } as unknown as KeptInput;
      const name = `${kept.table}: list ${position}`;
      await hear(name.trim(), () => listKept(database, slow, kept, input, ''));
    }
    await hear(`${kept.table}: read`, () => readKept(database, kept, 1, 1));
  }
  const write = createWriter(database);
  for (const [name, kind] of Object.entries({ ERASE_NOTE, ERASE_VERSIONS, RESTORE, ERASE }))
    await hear(`history: ${name}`, () => write(kind, onNote(1)));
  for (const [name, kind] of Object.entries({ ...ERASURES, ...THINNING })) {
    await hear(`history: find ${name}`, () => database.read({ sql: kind.find, parameter: '[]' }));
    await hear(`history: erase ${name}`, () => write(kind, onRows([1])));
  }
  await hear('history: last version', () => database.read({ sql: LAST_VERSION }));
  await hear('history: latest versions', () => database.read({ sql: LATEST, parameter: '[1]' }));
  await hear('history: days', () => keepFor(7, database));
  await hear('history: empty the trash', () => write(EMPTY_TRASH, onRows([0])));
  await hear('history: what is left to erase', () => database.read({ sql: IS_LEFT }));
}

async function hearTags(database: Database, hear: Hear): Promise<void> {
  const table = tableOf(notes, database);
  const noteTags = createNoteTags(database, createWriter(database));
  await hear('notes: create with tags', () => table.createWith([{}], { tags: [[0, 'new']] }));
  await hear('notes: create with ids of tags', () => table.createWith([{}], { tags: [[0, 1]] }));
  await hear('notes: change with tags', () => table.changeTagged(1, ['a'], [[0, 'new']]));
  await hear('tags on notes: add', () => noteTags.add([1, 1]));
  await hear('tags on notes: remove', () => noteTags.remove([1, 1]));
  await hear('tags on notes: read', () => noteTags.read([1, 1]));
}

async function hearLists(resource: Resource, database: Database, hear: Hear): Promise<void> {
  const table = tableOf(resource, database);
  const { filters, counterpart } = listsOf(resource);
  const owner = resource.owner && 1;
  const list = (what: object, parameters: object = {}) => {
    const request = {
      limit: 10,
      owner,
      filters: filterValues(filters, { ...parameters }),
      ...what,
    };
    const name = JSON.stringify({ ...what, ...parameters }).replaceAll('"', '');
    return hear(`${resource.table}: list ${name}`, () => table.page(request));
  };
  for (const order of ORDERS)
    for (const place of [{}, { offset: 5_000 }, { after: 5 }, { before: 5 }])
      await list({ order, ...place });
  for (const include of INCLUDED) await list({ include: [include] });
  for (const more of [
    { fields: ['id'] },
    { fields: ['id'], include: ['snippet'] },
    { id: 1 },
    { known: isOneOf(['a']) },
    { isLines: true },
  ])
    await list(more);
  for (const parameters of FILTERS.get(resource) ?? []) {
    const orders = 'q' in parameters ? ['rank', 'id'] : ['id', '-updated'];
    for (const order of orders) await list({ order, ...parameters }, parameters);
  }
  await table.create([{ body: LARGE }, { body: LARGE }, { body: LARGE }], owner);
  await list({ limit: 3 });
  if (counterpart)
    await list({ isOfCounterpart: true, owner: 1 }, { [counterpart.idParameter]: [1] });
}
