// Links between two records, such as the tags on a note: added and removed one by one.
import type { Link, Reference } from '../../resources/resource.ts';
import type { RowSet, Write, WriteKind } from '../batches/writer.ts';
import type { Database, Row } from '../database.ts';
import { member, POSITION, ROWS, readStatement } from './writes.ts';

interface LinkState {
  readonly hasEnds: readonly [boolean, boolean];
  readonly isLinked: boolean;
}

type LinkKey = readonly [number, number];

/** The links of one table. Every call rejects with DatabaseUnavailable or QueueFull. */
export class Links {
  readonly #database: Database;
  readonly #write: Write;
  readonly #state: ReturnType<typeof readStatement>;
  readonly #linking: WriteKind<RowSet, LinkState>;
  readonly #unlinking: WriteKind<RowSet, LinkState>;

  constructor({ table, ends }: Link, database: Database, write: Write) {
    this.#database = database;
    this.#write = write;
    const columns = ends.map(({ column }) => column);
    const [hasFirst, hasSecond] = [existsSql(ends[0], 0), existsSql(ends[1], 1)];
    const isRow = columns.map((column, index) => `${table}.${column} = ${member(index)}`);
    const isLinked = `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow.join(' AND ')})`;
    this.#state = readStatement(
      { position: POSITION, first: hasFirst, second: hasSecond, linked: isLinked },
      `FROM ${ROWS}`,
    );
    const kindOf = (
      sql: string,
      hasChanged: (before: LinkState) => boolean,
    ): WriteKind<RowSet, LinkState> => ({
      statements: [this.#state, { sql }],
      changes: (_, before) => (hasChanged(before) ? [[table]] : []),
      outcomes(writes, rows) {
        const byPosition = new Map(rows.map((row) => [row.position, row]));
        return writes.map((_, index) => stateOf(byPosition.get(index)));
      },
    });
    this.#linking = kindOf(
      `INSERT INTO ${table} (${columns.join(', ')})
       SELECT ${member(0)}, ${member(1)} FROM ${ROWS}
       WHERE ${hasFirst} AND ${hasSecond} AND NOT ${isLinked}`,
      ({ hasEnds, isLinked }) => hasEnds[0] && hasEnds[1] && !isLinked,
    );
    this.#unlinking = kindOf(
      `DELETE FROM ${table} WHERE (${columns.join(', ')}) IN
         (SELECT ${member(0)}, ${member(1)} FROM ${ROWS})`,
      ({ isLinked }) => isLinked,
    );
  }

  /** Links the records, if both exist; resolves with the state before. */
  add(key: LinkKey): Promise<LinkState> {
    return this.#write(this.#linking, key.join('/'), { rows: [key] });
  }

  /** Removes a link; resolves with the state before. */
  remove(key: LinkKey): Promise<LinkState> {
    return this.#write(this.#unlinking, key.join('/'), { rows: [key] });
  }

  async read(key: LinkKey): Promise<LinkState> {
    const parameter = JSON.stringify([0, [key]]);
    const [row] = await this.#database.read({ sql: this.#state.sql, parameter });
    return stateOf(row);
  }
}

function existsSql({ resource }: Reference, index: number): string {
  return `EXISTS (SELECT 1 FROM ${resource.table} WHERE id = ${member(index)})`;
}

function stateOf(row: Row | undefined): LinkState {
  if (!row) throw new Error('the engine returned too few rows');
  return { hasEnds: [row.first === 1, row.second === 1], isLinked: row.linked === 1 };
}
