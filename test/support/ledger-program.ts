// Another program that writes the file of a service through SQLite, and enters each state of its
// records into a ledger. Its records have fixed ids, which it uses again after it has deleted them.
import type { Connection } from '../../src/storage/sqlite/connection.ts';
import { between, oneIn } from './ledger.ts';
import { nextText } from './ledger-client.ts';
import { BIG_COMMENTS, BIG_NOTE, LINKED, titleOf } from './ledger-reader.ts';
import type { Entered, State, StateLedger } from './state-ledger.ts';

/** How many comments the note has that is for large transactions. The first ones are read. */
const ALL_COMMENTS = 1_000;

interface Change {
  readonly sql: string;
  readonly states: readonly (readonly [path: string, state: State])[];
}

/** Nothing is synced, because only processes are killed. */
const PROGRAM_PRAGMAS =
  'PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 20000';

/** Returns the paths of the records that the program writes. */
export function fixedPaths(): string[] {
  const notes = Array.from({ length: BIG_NOTE }, (_, index) => index + 1);
  return notes.flatMap((id) => [`/notes/${id}`, `/notes/${id}/comments/${id}`]);
}

/** The states of the big note and its comments when it holds `text`. */
export function bigStates(text: string): ReadonlyMap<string, State> {
  const note = `/notes/${BIG_NOTE}`;
  const comments = Array.from(
    { length: BIG_COMMENTS },
    (_, index) => `${note}/comments/${BIG_NOTE + index}`,
  );
  return new Map([note, ...comments].map((path) => [path, text]));
}

/** The writing program. */
export class LedgerProgram {
  readonly #connection: Connection;
  readonly #ledger: StateLedger;
  readonly #states = new Map<string, State>();
  commits = 0;

  constructor(connection: Connection, ledger: StateLedger) {
    this.#connection = connection;
    this.#ledger = ledger;
  }

  /** Creates the tag and the big note. Nobody may have written before. */
  async start(): Promise<void> {
    const text = nextText();
    const entered = this.#ledger.enter(bigStates(text));
    await this.#connection.execute(`
      ${PROGRAM_PRAGMAS};
      INSERT INTO tags (id, name) VALUES (1, 'tag');
      INSERT INTO notes (id, title, body) VALUES (${BIG_NOTE}, '${titleOf(text)}', '${text}');
      WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < ${ALL_COMMENTS - 1})
      INSERT INTO comments (id, note_id, body)
      SELECT ${BIG_NOTE} + n, ${BIG_NOTE}, '${text}' FROM i`);
    entered.acknowledge();
  }

  /** Commits several times; some transactions change several records or are rolled back. */
  async write(commits: number): Promise<void> {
    const entered: Entered[] = [];
    let sql = '';
    for (let left = commits; left > 0; left -= 1) {
      const ids = oneIn(20) ? [1, 2, 3] : [between(1, BIG_NOTE - 1)];
      const changes = ids.map((id) => this.#change(`/notes/${id}`, id));
      const states = new Map(changes.flatMap((each) => each.states));
      for (const [path, state] of states) this.#states.set(path, state);
      entered.push(this.#ledger.enter(states));
      // Nobody may ever see the text that is rolled back.
      if (oneIn(40)) sql += `BEGIN IMMEDIATE; UPDATE notes SET body = 'never'; ROLLBACK;`;
      sql += `BEGIN IMMEDIATE; ${changes.map((each) => each.sql).join(';')}; COMMIT;`;
    }
    // In one call, because each has to wait for a turn of this busy process.
    await this.#connection.execute(sql);
    for (const each of entered) each.acknowledge();
    this.commits += commits;
  }

  #change(note: string, id: number): Change {
    const [comment, link] = [`${note}/comments/${id}`, `${note}/tags/1`];
    const text = nextText();
    const values = `'${titleOf(text)}', '${text}'`;
    const has = (path: string) => this.#states.get(path) !== undefined;
    if (!has(note)) {
      const sql = `INSERT INTO notes (id, title, body) VALUES (${id}, ${values})`;
      return { sql, states: [[note, text]] };
    }
    if (oneIn(20)) {
      const gone = [note, comment, link].filter(has).map((path) => [path, undefined] as const);
      return { sql: `DELETE FROM notes WHERE id = ${id}`, states: gone };
    }
    if (oneIn(8)) {
      const sql = has(link)
        ? `DELETE FROM note_tags WHERE note_id = ${id} AND tag_id = 1`
        : `INSERT INTO note_tags (note_id, tag_id) VALUES (${id}, 1)`;
      return { sql, states: [[link, has(link) ? undefined : LINKED]] };
    }
    if (oneIn(2)) {
      const sql = `UPDATE notes SET (title, body) = (${values}) WHERE id = ${id}`;
      return { sql, states: [[note, text]] };
    }
    return this.#changeComment(comment, id, text);
  }

  #changeComment(comment: string, id: number, text: string): Change {
    const isThere = this.#states.get(comment) !== undefined;
    if (isThere && oneIn(6))
      return { sql: `DELETE FROM comments WHERE id = ${id}`, states: [[comment, undefined]] };
    const sql = isThere
      ? `UPDATE comments SET body = '${text}' WHERE id = ${id}`
      : `INSERT INTO comments (id, note_id, body) VALUES (${id}, ${id}, '${text}')`;
    return { sql, states: [[comment, text]] };
  }
}
