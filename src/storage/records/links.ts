// Links between two records, such as the tags on a note: added and removed one by one.
import type { Link, Reference } from '../../resources/resource.ts';
import type { RowSet, Write, WriteKind } from '../batches/writer.ts';
import type { Database, Row } from '../database.ts';
import { member, ROWS, readStatement } from './writes.ts';

/** What there was before a write. */
export interface LinkState {
  /** Whether the first and the second record exist. */
  readonly hasEnds: readonly [boolean, boolean];
  readonly isLinked: boolean;
}

/** The ids of the two records of a link. */
export type LinkKey = readonly [number, number];

/** The links of one table. Every call rejects with DatabaseUnavailable or QueueFull. */
export interface Links {
  /** Links the records, if both exist and they are not linked; resolves with the state before. */
  add(key: LinkKey): Promise<LinkState>;
  /** Removes a link, if it exists; resolves with the state before. */
  remove(key: LinkKey): Promise<LinkState>;
  read(key: LinkKey): Promise<LinkState>;
}

/** Returns the links of `link`, whose writes go through `write`. */
export function createLinks(link: Link, database: Database, write: Write): Links {
  const { table, ends } = link;
  const columns = ends.map(({ column }) => column);
  const [hasFirst, hasSecond] = [existsSql(ends[0], 0), existsSql(ends[1], 1)];
  const isRow = columns.map((column, index) => `${table}.${column} = ${member(index)}`);
  const isLinked = `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow.join(' AND ')})`;
  const state = readStatement(
    { position: 'sent.key', first: hasFirst, second: hasSecond, linked: isLinked },
    `FROM ${ROWS}`,
  );
  const kindOf = (
    sql: string,
    hasChanged: (before: LinkState) => boolean,
  ): WriteKind<RowSet, LinkState> => ({
    statements: [state, { sql }],
    changes: (_, before) => (hasChanged(before) ? [[table]] : []),
    outcomes(writes, rows = []) {
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
    add: (key) => write(linking, key.join('/'), { rows: [key] }),
    remove: (key) => write(unlinking, key.join('/'), { rows: [key] }),
    async read(key) {
      const [row] = await database.read({ sql: state.sql, parameter: JSON.stringify([0, [key]]) });
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
