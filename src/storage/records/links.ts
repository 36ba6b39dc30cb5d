// Links between two records, such as the tags on a note: added and removed one by one.
import type { Link, Reference } from '../../resources/resource.ts';
import type { RowSet, Write, WriteKind } from '../batches/writer.ts';
import type { Database, Row } from '../database.ts';
import { SET_TIMES } from './answered-keys.ts';
import { member, POSITION, ROWS, readStatement } from './writes.ts';

/** The state of a link before a write. */
export interface LinkState {
  readonly hasEnds: readonly [boolean, boolean];
  readonly isLinked: boolean;
}

type LinkKey = readonly [number, number];

/** The links of one table. Every call rejects with DatabaseUnavailable or QueueFull. */
export type Links = ReturnType<typeof createLinks>;

/** Returns the {@link Links} of a table. */
export function createLinks({ table, ends }: Link, database: Database, write: Write) {
  const columns = ends.map(({ column }) => column);
  const [hasFirst, hasSecond] = [existsSql(ends[0], 0), existsSql(ends[1], 1)];
  const isRow = columns.map((column, index) => `${table}.${column} = ${member(index)}`);
  const isLinked = `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow.join(' AND ')})`;
  const state = readStatement(
    { position: POSITION, first: hasFirst, second: hasSecond, linked: isLinked },
    `FROM ${ROWS}`,
  );
  const kindOf = (
    sql: string,
    hasChanged: (before: LinkState) => boolean,
  ): WriteKind<RowSet, LinkState> => ({
    statements: [state, { sql }, SET_TIMES],
    changes: (_, before) => (hasChanged(before) ? [[table]] : []),
    outcomes(writes, rows) {
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      return writes.map((_, index) => stateOf(byPosition.get(index)));
    },
  });
  const linking = kindOf(
    `INSERT INTO ${table} (${columns.join(', ')})
     SELECT ${member(0)}, ${member(1)} FROM ${ROWS}
     WHERE ${hasFirst} AND ${hasSecond} AND NOT ${isLinked}`,
    ({ hasEnds, isLinked }) => hasEnds[0] && hasEnds[1] && !isLinked,
  );
  const unlinking = kindOf(
    `DELETE FROM ${table} WHERE (${columns.join(', ')}) IN
       (SELECT ${member(0)}, ${member(1)} FROM ${ROWS})`,
    ({ isLinked }) => isLinked,
  );
  return {
    /** Links the records, if both exist; resolves with the state before. */
    add: (key: LinkKey) => write(linking, key.join('/'), { rows: [key] }),

    /** Removes a link; resolves with the state before. */
    remove: (key: LinkKey) => write(unlinking, key.join('/'), { rows: [key] }),

    async read(key: LinkKey): Promise<LinkState> {
      const parameter = JSON.stringify([0, [key]]);
      const [row] = await database.read({ sql: state.sql, parameter });
      return stateOf(row);
    },
  };
}

function existsSql({ resource }: Reference, index: number): string {
  return `EXISTS (SELECT 1 FROM ${resource.table} WHERE id = ${member(index)})`;
}

function stateOf(row: Row | undefined): LinkState {
  if (!row) throw new Error('the engine returned too few rows');
  return { hasEnds: [row.first === 1, row.second === 1], isLinked: row.linked === 1 };
}
