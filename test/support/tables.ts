// The tables of a database under test, with and without entity tags. A test names the members of a
// record that it speaks of; the others get defaults.
import { versionsInLists } from '../../src/history/kept.ts';
import { Pages } from '../../src/lists/pages.ts';
import { partsOf } from '../../src/lists/parts.ts';
import type { PageRequest } from '../../src/lists/request.ts';
import { namesInLists } from '../../src/names/in-lists.ts';
import { askedFor, namesOfNotes } from '../../src/names/named-notes.ts';
import type { Condition } from '../../src/records/condition.ts';
import { type AskedParts, NOTHING } from '../../src/records/parts.ts';
import { Table } from '../../src/records/table.ts';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Field, FieldValue, Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import { askedBy, requestKeys } from '../../src/retries/feature.ts';
import { searchInLists } from '../../src/search/in-lists.ts';
import type { SearchIndex } from '../../src/search/search-index.ts';
import type { Database } from '../../src/storage/database.ts';
import {
  createWriter,
  type Memory,
  NO_MEMORY,
  type Values,
  type Write,
} from '../../src/storage/writer.ts';
import { askedForAll, askedSingly, askedTags, type RowTag } from '../../src/tags/bodies.ts';
import { inLists } from '../../src/tags/in-lists.ts';
import { tagsOfNotes } from '../../src/tags/tagged-notes.ts';
import { times } from '../../src/times/feature.ts';
import { EMPTY_CALL } from './bare-server.ts';
import { type Members, sampleOf } from './records.ts';

/** Members of a record by name, or the values of its first fields. */
export type Input = Members | Values;

/** Returns the values of all fields; what `input` leaves out is what `missing` returns for it. */
export function valuesOf(
  resource: Resource,
  input: Input,
  missing: (field: Field) => FieldValue | null = sampleOf,
): Values {
  const members: Input = input;
  return Object.entries(resource.fields).map(([name, field], index) => {
    const value = Array.isArray(members) ? members[index] : (members as Members)[name];
    return value === undefined ? missing(field) : value;
  });
}

/** The key of a creation, and the fingerprint of its content. */
export interface Once {
  readonly key: string;
  readonly fingerprint: string;
}

/** What a creation can have beside its records. */
export interface Parts {
  readonly once?: Once;
  readonly tags?: readonly RowTag[];
  readonly name?: string;
  readonly times?: readonly Values[];
}

/** What a change can have beside the fields: all tags, or those to add and to remove; a name. */
export interface NamedChange extends Pick<Parts, 'tags'> {
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
  readonly name?: string | null;
}

const askedOnce = (once?: Once): AskedParts => (once ? { key: askedBy(once) } : NOTHING);

/** A table that {@link tableOf} returns. */
export type TestTable = ReturnType<typeof tableOf>;

/** Returns the parts of the lists of a resource; searches do not wait without `index`. */
export const listsOf = (resource: Resource, index?: SearchIndex) =>
  partsOf(resource, [
    searchInLists(new Map(index && [[resource, index]])),
    ...[inLists, namesInLists, versionsInLists],
  ]);

/** Returns the table of a resource, whose writes take {@link Input}, and its pages. */
export function tableOf(
  resource: Resource,
  database: Database,
  write: Write = createWriter(database),
  memory: Memory = NO_MEMORY,
) {
  const optional = [...tagsOfNotes(resource), ...namesOfNotes(resource)];
  const parts = [...requestKeys(resource), ...optional, ...(times().inWrites?.(resource) ?? [])];
  const table = new Table(resource, { database, write, memory, meters: undefined }, parts);
  const pages = new Pages(listsOf(resource), database);
  const complete = (input: Input) => valuesOf(resource, input);
  const partial = (input: Input) => valuesOf(resource, input, () => null);
  async function create(records: readonly Input[], owner?: number, asked?: AskedParts) {
    const created = await table.create(records.map(complete), owner, asked);
    if (!created) return undefined;
    const { headers: _, isFinal: __, earlier, ...outcome } = created;
    return { ...outcome, isReplay: earlier !== undefined };
  }
  return {
    create: (records: readonly Input[], owner?: number, once?: Once) =>
      create(records, owner, askedOnce(once)),
    createWith: (records: readonly Input[], parts: Parts, owner?: number) => {
      const { once, tags, name, times } = parts;
      return create(records, owner, {
        ...askedOnce(once),
        ...(tags && askedTags(tags, 'lines')),
        ...(name !== undefined && { name: askedFor([[0, name]]) }),
        ...(times && { times: { ofRecords: times } }),
      });
    },
    read: (id: number, owner?: number) => table.read(id, owner),
    replace: (id: number, input: Input, owner?: number, condition?: Condition) =>
      table.change({ id, owner }, complete(input), condition),
    /** What is missing in `input` stays as it is. */
    change: (id: number, input: Input, owner?: number, condition?: Condition) =>
      table.change({ id, owner }, partial(input), condition),
    createFor: (recipient: Parameters<Write>[2], input: Input) =>
      table.create([complete(input)], 0, NOTHING, recipient),
    changeFor: (recipient: Parameters<Write>[2], id: number, input: Input) =>
      table.change({ id }, partial(input), null, NOTHING, recipient),
    changeTagged: (
      id: number,
      input: Input,
      tags: readonly RowTag[],
      owner?: number,
      condition?: Condition,
    ) => {
      const asked = askedForAll(tags, 'lines');
      return table.change({ id, owner }, partial(input), condition, asked);
    },
    /** Without a name, the note keeps the one that it has. */
    changeNamed: (
      id: number,
      at: string | null,
      input: Input,
      { tags, name, added = [], removed = [] }: NamedChange,
      condition?: Condition,
    ) => {
      const asked = {
        ...(tags ? askedForAll(tags, 'lines') : askedSingly(added, removed, 'json')),
        ...(name !== undefined && { name: askedFor([[0, name]], id) }),
      };
      return table.change({ id, at: at ?? undefined }, partial(input), condition, asked);
    },
    remove: (id: number, owner?: number, condition?: Condition) =>
      table.remove({ id, owner }, condition),
    page: (request: PageRequest) => pages.read(request),
  };
}

/** Returns the tables of the service; their writes share batches. */
export function tablesOf(database: Database) {
  const write = createWriter(database);
  const each = (resource: Resource) => tableOf(resource, database, write);
  return { notes: each(notes), tags: each(tags), comments: each(comments) };
}

/** Returns a table without entity tags, whose calls resolve with ids, texts and booleans. */
export function plainTable(resource: Resource, database: Database, write?: Write) {
  const table = tableOf(resource, database, write);
  return {
    create: async (input: Input, owner?: number) => (await table.create([input], owner))?.id,
    read: async (id: number, owner?: number) => (await table.read(id, owner))?.text,
    replace: async (id: number, input: Input, owner?: number) =>
      (await table.replace(id, input, owner)) !== undefined,
    patch: async (id: number, input: Input, owner?: number) =>
      (await table.change(id, input, owner))?.text,
    createOnce: async (input: Input, once: Once, owner?: number) =>
      (await table.create([input], owner, once))?.id,
    remove: (id: number, owner?: number) => table.remove(id, owner),
    async page(limit: number, offset: number, owner?: number, check?: () => void) {
      const call = check && { ...EMPTY_CALL, ensureSendable: check };
      const page = await table.page({ limit, offset, owner, call });
      return page && { items: `[${page.items ?? ''}]`, total: page.total };
    },
  };
}

/** A table that {@link plainTable} returns. */
export type PlainTable = ReturnType<typeof plainTable>;
