// The tables of a database under test, with and without entity tags. Optional fields get their
// defaults, so that a new one concerns only the tests that speak of it.
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import { createWriter, type Values, type Write } from '../../src/storage/batches/writer.ts';
import type { Database } from '../../src/storage/database.ts';
import type { Once } from '../../src/storage/records/compound-writes.ts';
import { Table } from '../../src/storage/records/table.ts';

/** Returns the values of a record, with the defaults of the optional fields that follow. */
function complete({ fields }: Resource, values: Values): Values {
  const others = Object.values(fields).slice(values.length);
  return [...values, ...others.map((field) => field.default ?? null)];
}

/** Returns the JSON text of a record with these members, and the defaults of the others. */
export function textOf({ fields }: Resource, members: Readonly<Record<string, unknown>>): string {
  const defaults = Object.entries(fields).map(([name, field]) => [name, field.default]);
  return JSON.stringify({ ...members, ...Object.fromEntries(defaults), ...members });
}

/** A table whose values may end before the optional fields. */
export class TestTable extends Table {
  readonly #complete: (values: Values) => Values;

  constructor(resource: Resource, ...others: Tail<ConstructorParameters<typeof Table>>) {
    super(resource, ...others);
    this.#complete = (values) => complete(resource, values);
  }

  override create(records: readonly Values[], ...others: Tail<Parameters<Table['create']>>) {
    return super.create(records.map(this.#complete), ...others);
  }

  override createLinked(
    records: readonly Values[],
    ...others: Tail<Parameters<Table['createLinked']>>
  ) {
    return super.createLinked(records.map(this.#complete), ...others);
  }

  override change(id: number, values: Values, ...others: Tail<Tail<Parameters<Table['change']>>>) {
    return super.change(id, this.#complete(values), ...others);
  }

  override changeLinked(
    id: number,
    values: Values,
    ...others: Tail<Tail<Parameters<Table['changeLinked']>>>
  ) {
    return super.changeLinked(id, this.#complete(values), ...others);
  }
}

type Tail<All extends readonly unknown[]> = All extends [unknown, ...infer Others] ? Others : never;

/** Returns the tables of the service; their writes share batches. */
export function tablesOf(database: Database) {
  const write = createWriter(database);
  const tableOf = (resource: Resource) => new TestTable(resource, database, write);
  return { notes: tableOf(notes), tags: tableOf(tags), comments: tableOf(comments) };
}

/** Returns a table without entity tags, whose calls resolve with ids, texts and booleans. */
export function plainTable(
  resource: Resource,
  database: Database,
  write: Write = createWriter(database),
) {
  const table = new TestTable(resource, database, write);
  return {
    create: async (values: Values, owner?: number) => (await table.create([values], owner))?.id,
    read: async (id: number, owner?: number) => (await table.read(id, owner))?.text,
    replace: async (id: number, values: Values, owner?: number) =>
      (await table.change(id, values, owner)) !== undefined,
    patch: async (id: number, values: Values, owner?: number) =>
      (await table.change(id, values, owner))?.text,
    createOnce: async (values: Values, once: Once, owner?: number) =>
      (await table.create([values], owner, once))?.id,
    remove: (id: number, owner?: number) => table.remove(id, owner),
    page: (limit: number, offset: number, owner?: number, check?: () => void) =>
      pageOf(table, limit, offset, owner, check),
  };
}

/** A table that {@link plainTable} returns. */
export type PlainTable = ReturnType<typeof plainTable>;

async function pageOf(
  table: Table,
  limit: number,
  offset: number,
  owner: number | undefined,
  check: (() => void) | undefined,
): Promise<{ items: string; total: number } | undefined> {
  const page = await table.page({ limit, offset, owner, check });
  return page && { items: `[${page.items ?? ''}]`, total: page.total };
}
