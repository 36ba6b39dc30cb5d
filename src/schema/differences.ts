// What the schema of a database has that the steps did not create: whoever can write the file can
// add a trigger, which then changes what clients write.
import type { Row, Source } from '../storage/database.ts';
import { IMPORT_MARK, migrate, storedSchema } from '../storage/schema/migrations.ts';
import { STEPS } from '../storage/schema/steps.ts';
import { openSqlite } from '../storage/sqlite/engine.ts';

/** A part of a schema that is missing, changed or added. */
export interface Difference {
  /** Such as "the schema has no note_created". */
  readonly text: string;
  /** Whether it can affect what the service reads and writes. */
  readonly isFault: boolean;
}

/** Tables that clusters, imports, ANALYZE and Litestream add. */
const KNOWN = [
  ...['notes_server_batches', IMPORT_MARK, 'sqlite_stat1', 'sqlite_stat4'],
  ...['_litestream_seq', '_litestream_lock'],
];

/** The SQL of shadow tables may depend on the version of SQLite. */
const PARTS = `
  SELECT type, name,
    iif(name IN (SELECT name FROM pragma_table_list WHERE type = 'shadow'), '', sql) AS sql,
    CASE type
      WHEN 'table' THEN EXISTS (SELECT 1 FROM pragma_foreign_key_list(part.name))
      WHEN 'index' THEN EXISTS (
        SELECT 1 FROM pragma_index_list(tbl_name) AS list JOIN pragma_index_info(list.name)
        WHERE list.name = part.name AND ("unique" OR partial OR cid < 0))
      ELSE 1 END AS has_effects
  FROM sqlite_schema AS part
  WHERE sql IS NOT NULL`;

/** Resolves with the differences from what the steps create up to the version of the database. */
export async function differencesIn({ read }: Source): Promise<Difference[]> {
  const { version } = await storedSchema(read);
  const found = await read({ sql: PARTS });
  const model = models.get(version) ?? (await readModel(version));
  models.set(version, model);
  const missing = new Map(model.map((part) => [keyOf(part), part]));
  const differences = found.flatMap((part): Difference[] => {
    const { type, name, sql } = part;
    const isFault = part.has_effects === 1;
    const expected = missing.get(keyOf(part));
    missing.delete(keyOf(part));
    if (expected)
      return expected.sql === sql
        ? []
        : [{ text: `the ${type} ${name} was changed`, isFault: true }];
    if (!isFault && KNOWN.includes(String(name))) return [];
    return [{ text: `the ${type} ${name} is not of the schema`, isFault }];
  });
  const texts = [...missing.values()].map(({ name }) => `the schema has no ${name}`);
  return [...texts.map((text) => ({ text, isFault: true })), ...differences];
}

/** The parts of each version, which never change. */
const models = new Map<number, readonly Row[]>();

async function readModel(version: number): Promise<readonly Row[]> {
  const model = await openSqlite(':memory:');
  try {
    await migrate(model, STEPS.slice(0, version));
    return await model.read({ sql: PARTS });
  } finally {
    await model.close();
  }
}

const keyOf = ({ type, name }: Row) => `${type} ${name}`;
