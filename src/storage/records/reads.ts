// Reads of single records, from memory or in batches.
import type { Resource } from '../../resources/resource.ts';
import { Batcher, type BatchMeter } from '../batches/batcher.ts';
import { detached, type FreshMemory } from '../batches/fresh-memory.ts';
import { tagSql } from '../changes/numbers.ts';
import type { Database } from '../database.ts';
import { MAX_PAGE_BYTES } from '../lists/request.ts';
import { recordSql } from './text.ts';
import type { Stored } from './writes.ts';

interface RecordKey {
  readonly id: number;
  readonly owner: number;
}

/** Returns a function that reads single records, from memory or in batches. */
export function createReads(
  resource: Resource,
  database: Database,
  memory: FreshMemory,
  meter: BatchMeter | undefined,
) {
  const { table, owner: owned } = resource;
  // SQLite unpacks bare ids faster than arrays.
  const isRead = owned
    ? `${table}.id = sent.value ->> 1 AND ${table}.${owned.column} = sent.value ->> 0`
    : `${table}.id = sent.value`;
  const line = `${tagSql(`${table}.number`)} || ' ' || ${recordSql(resource)}`;
  const sql = `
    SELECT group_concat(CASE WHEN ${table}.id IS NULL THEN '' ELSE ${line} END, char(10)) AS lines
    FROM json_each(?1) AS sent LEFT JOIN ${table} ON ${isRead}`;
  const keyOf = ({ id, owner }: RecordKey) => (owned ? [owner, id] : id);
  const beginningOf = ({ id, owner }: RecordKey) =>
    owned ? `{"id":${id},"${owned.column}":${owner},` : `{"id":${id},`;
  const batcher = new Batcher<RecordKey, Stored | undefined>({
    meter,
    async run(keys) {
      const revision = memory.check();
      const parameter = JSON.stringify(keys.map(keyOf));
      // Records that are too large together are read one by one.
      const [row] = await database.read({ sql, parameter, maxBytes: MAX_PAGE_BYTES });
      if (typeof row?.lines !== 'string') throw new Error('the engine returned no records');
      // JSON text contains no raw line feed.
      const lines = row.lines.split('\n');
      const records = keys.map((key, index) => recordIn(lines[index], beginningOf(key)));
      if (revision !== undefined) {
        const kept = keys.map(({ id }, index) => [id, detachedRecord(records[index])] as const);
        memory.keep(revision, table, kept);
      }
      return records;
    },
  });
  return (key: RecordKey): Stored | Promise<Stored | undefined> => {
    const known = memory.find<Stored>(table, key.id);
    const isFound = known && (!owned || known.text.startsWith(beginningOf(key)));
    return isFound ? known : batcher.submit(key);
  };
}

/** Throws if the line has another record: SQLite does not guarantee the order. */
function recordIn(line: string | undefined, beginning: string): Stored | undefined {
  if (line === '') return undefined;
  const space = line?.indexOf(' ') ?? -1;
  if (!line?.startsWith(beginning, space + 1))
    throw new Error('the engine returned the records in another order');
  return { tag: line.slice(0, space), text: line.slice(space + 1) };
}

function detachedRecord(record: Stored | undefined): Stored | undefined {
  return record && { tag: detached(record.tag), text: detached(record.text) };
}
