// The records of a resource, whose JSON text SQLite builds and the service sends as it is.
import type { Core } from '../feature.ts';
import type { Resource } from '../resources/resource.ts';
import { Batcher } from '../storage/batcher.ts';
import { type Database, MAX_PAGE_BYTES } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import type { Memory, Values, Write, WriteKind } from '../storage/writer.ts';
import type { Condition } from './condition.ts';
import { type Created, creationOf } from './creation.ts';
import {
  type AskedParts,
  type Asking,
  demandsOf,
  kindFor,
  NOTHING,
  type Verdict,
  type WritePart,
} from './parts.ts';
import { ifReachable, recordSql } from './text.ts';
import { type Change, recordKinds, type Stored } from './writes.ts';

/** Without an owner, it is 0 or undefined. */
interface RecordKey {
  readonly id: number;
  readonly owner?: number | undefined;
}

/** A record that is written. */
type Target = RecordKey & Pick<Change, 'at'>;

/** The records of one table; `owner` is 0 if none owns them. `write` must use the same memory. */
export class Table {
  /** What features add to its writes. */
  readonly parts: readonly WritePart[];
  readonly #resource: Resource;
  readonly #write: Write;
  readonly #kinds: ReturnType<typeof recordKinds>;
  readonly #creation: ReturnType<typeof creationOf>;
  readonly #joint: ReturnType<NonNullable<WritePart['change']>> | undefined;
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
    this.#creation = creationOf(resource, parts);
    this.#joint = parts.find(({ change }) => change)?.change?.(parts);
    this.#memory = memory;
    const run = this.#readBatch.bind(this, database, readSql(resource));
    this.#reads = new Batcher({ run, meter: meters?.read });
  }

  /** Stores all or none; undefined if the owner is missing. */
  create(
    records: readonly Values[],
    owner = 0,
    asked: AskedParts = NOTHING,
    recipient?: Parameters<Write>[2],
  ): Promise<Created | undefined> {
    const { claims, moreSize } = demandsOf(asked);
    const creation = { rows: records, owner, asked, claims, moreSize };
    return this.#write(this.#creation, creation, recipient);
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
  #ownedBy({ id, owner = 0 }: RecordKey, record: Stored | undefined): Stored | undefined {
    const { owner: owned } = this.#resource;
    const isOwned = !owned || record?.text.startsWith(`{"id":${id},"${owned.column}":${owner},`);
    return isOwned ? record : undefined;
  }

  /**
   * Replaces values; null keeps one. Undefined if no record satisfies the condition. What changes
   * nothing leaves the record as it is, with its tag.
   */
  change(
    { id, owner = 0, at }: Target,
    values: Values,
    condition: Condition = null,
    asked: AskedParts = NOTHING,
    recipient?: Parameters<Write>[2],
  ): Promise<(Partial<Stored> & Verdict) | undefined> {
    const { claims, moreSize } = demandsOf(asked, [id]);
    const change = { rows: [values], id, owner, at, condition, asked, claims, moreSize };
    const { patch, replacement } = this.#kinds;
    const plain = values.includes(null) ? patch : replacement;
    const joint = asked === NOTHING ? undefined : this.#joint;
    return this.perform(joint ?? plain, change, recipient);
  }

  /** Carries out a write, unless what it asks of parts makes another one of it. */
  perform<Content extends Asking, Outcome>(
    kind: WriteKind<Content, Outcome>,
    write: Content,
    recipient?: Parameters<Write>[2],
  ): Promise<Outcome | Verdict> {
    return this.#write(kindFor(this.parts, kind, write.asked), write, recipient);
  }

  /** Deletes a record and all it owns; false if none satisfies the condition. */
  remove(
    { id, owner = 0, at }: Target,
    condition: Condition = null,
    asked: AskedParts = NOTHING,
  ): Promise<boolean | Verdict> {
    const { claims, moreSize } = demandsOf(asked, [id]);
    const removal = { rows: [], id, owner, at, condition, asked, claims, moreSize };
    return this.perform(this.#kinds.removal, removal);
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
