// The records of a resource, whose JSON text SQLite builds and the service sends as it is.
import type { Core } from '../feature.ts';
import type { Resource } from '../resources/resource.ts';
import { Batcher } from '../storage/batcher.ts';
import { type Database, MAX_PAGE_BYTES } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import type { Memory, Values, Write } from '../storage/writer.ts';
import type { Condition } from './condition.ts';
import {
  creationWith,
  type Given,
  type GivenParts,
  type WritePart,
  withValues,
} from './creation.ts';
import { ifReachable, recordSql } from './text.ts';
import { type Created, recordKinds, type Settled, type Stored } from './writes.ts';

/** The key of writes with lists of their own, which must share no statement. */
const ALONE = 0;

interface RecordKey {
  readonly id: number;
  readonly owner: number;
}

/** The records of one table; `owner` is 0 if none owns them. `write` must use the same memory. */
export class Table {
  /** What features add to its writes. */
  readonly parts: readonly WritePart[];
  readonly #resource: Resource;
  readonly #write: Write;
  readonly #kinds: ReturnType<typeof recordKinds>;
  /** Creations with the first part, with the first two, and so on. */
  readonly #creations: readonly ReturnType<typeof creationWith>[];
  readonly #memory: Memory;
  readonly #reads: Batcher<RecordKey, Stored | undefined>;

  constructor(
    resource: Resource,
    { database, memory, meters, write }: Pick<Core, 'database' | 'memory' | 'meters' | 'write'>,
    parts: readonly WritePart[] = [],
  ) {
    this.#resource = resource;
    this.#write = write;
    this.#kinds = recordKinds(resource);
    this.parts = parts;
    this.#creations = parts.map((_, last) => creationWith(resource, parts.slice(0, last + 1)));
    this.#memory = memory;
    const run = this.#readBatch.bind(this, database, readSql(resource));
    this.#reads = new Batcher({ run, meter: meters?.read });
  }

  /** Stores all or none; undefined if the owner is missing. */
  create(
    records: readonly Values[],
    owner = 0,
    given: GivenParts = [],
    recipient?: Parameters<Write>[3],
  ): Promise<Created | undefined> {
    const kind = this.#creations[given.length - 1];
    if (!kind) {
      const { creation } = this.#kinds;
      return this.#write(creation, undefined, { rows: rowsOf(records, owner) }, recipient);
    }
    const all: Partial<Given> = Object.assign({ fingerprint: '' }, ...given);
    const { key, extra, isAlone = extra !== undefined } = all;
    const rows = withValues(rowsOf(records, owner, all), this.parts, given);
    return this.#write(kind, isAlone ? ALONE : key, { rows, extra, given }, recipient);
  }

  read(id: number, owner = 0): Stored | undefined | Promise<Stored | undefined> {
    const known = this.#memory.find<Stored>(this.#resource.table, id);
    return known ? this.#ownedBy({ id, owner }, known) : this.#reads.submit({ id, owner });
  }

  async #readBatch(database: Database, sql: string, keys: readonly RecordKey[]) {
    const revision = this.#memory.check();
    const parameter = JSON.stringify(keys.map(({ id }) => id));
    // Records that are too large together are read one by one.
    const [row] = await database.read({ sql, parameter, maxBytes: MAX_PAGE_BYTES });
    // JSON text contains no raw line feed.
    const lines = String(row?.lines).split('\n');
    const read = keys.map(({ id }, index) => [id, recordIn(lines[index], id)] as const);
    this.#memory.keep(revision, this.#resource.table, read);
    return keys.map((key, index) => this.#ownedBy(key, read[index]?.[1]));
  }

  /** Returns the record of a key unless another one owns it, as the beginning of its text tells. */
  #ownedBy({ id, owner }: RecordKey, record: Stored | undefined): Stored | undefined {
    const { owner: owned } = this.#resource;
    const isOwned = !owned || record?.text.startsWith(`{"id":${id},"${owned.column}":${owner},`);
    return isOwned ? record : undefined;
  }

  /** Replaces values; null keeps one. Undefined if no record satisfies the condition. */
  change(
    id: number,
    values: Values,
    owner = 0,
    condition: Condition = null,
    given: GivenParts = [],
    recipient?: Parameters<Write>[3],
  ): Promise<(Stored & Settled) | undefined> {
    const rows = [[owner, id, condition, ...values]];
    const kind = this.parts[given.length - 1]?.change;
    if (kind)
      return this.#write(kind, ALONE, { rows, extra: given.at(-1)?.extra, given }, recipient);
    const { patch, replacement } = this.#kinds;
    return this.#write(values.includes(null) ? patch : replacement, id, { rows }, recipient);
  }

  /** Deletes a record and all it owns; false if none satisfies the condition. */
  remove(id: number, owner = 0, condition: Condition = null): Promise<boolean> {
    return this.#write(this.#kinds.removal, id, { rows: [[owner, id, condition]] });
  }
}

function readSql(resource: Resource): string {
  const { table } = resource;
  const line = `${tagSql(`${table}.number`)} || ' ' || ${recordSql(resource)}`;
  return `
    SELECT group_concat(CASE WHEN ${table}.id IS NULL THEN '' ELSE ${line} END, char(10)) AS lines
    FROM json_each(?1) AS sent
    LEFT JOIN ${table} ON ${table}.id = sent.value${ifReachable(resource)}`;
}

/** Throws if the line has another record: SQLite does not guarantee the order. */
function recordIn(line: string | undefined, id: number): Stored | undefined {
  if (line === '') return undefined;
  const space = line?.indexOf(' ') ?? -1;
  if (!line?.startsWith(`{"id":${id},`, space + 1))
    throw new Error('the engine returned the records in another order');
  return { tag: line.slice(0, space), text: line.slice(space + 1) };
}

function rowsOf(records: readonly Values[], owner: number, once: Partial<Given> = {}): Values[] {
  const { key = null, fingerprint = null } = once;
  return records.map((values, index) => [owner, key, index === 0 ? fingerprint : null, ...values]);
}
