// The database of a mirror: the records of a service as the feed of changes describes them, the
// cursor up to which it does, and every change that was applied.
import assert from 'node:assert/strict';
import sqlite3 from 'sqlite3';
import { type Connection, openConnection } from '../../src/storage/sqlite/connection.ts';
import type { AllRecords } from './all-records.ts';

/** A change as the service sends it with `include=record`. */
export interface MirroredChange {
  readonly id: string;
  readonly type: string;
  readonly record: unknown;
  readonly note_id?: number;
  readonly tag_id?: number;
  readonly comment_id?: number;
}

/** How a change came: as an event of a stream, or in a page. */
export type Way = 'stream' | 'page';

/** Nothing is synced, because only processes are killed. */
const PRAGMAS = 'PRAGMA busy_timeout = 20000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF';

// `start` is the cursor at which the mirror began to follow, and `starts` how often it did.
const TABLES = `
  CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
  CREATE TABLE IF NOT EXISTS tags (id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE IF NOT EXISTS comments (id INTEGER PRIMARY KEY, note_id INTEGER, body TEXT);
  CREATE TABLE IF NOT EXISTS note_tags (
    note_id INTEGER, tag_id INTEGER, PRIMARY KEY (note_id, tag_id));
  CREATE TABLE IF NOT EXISTS applied (number INTEGER PRIMARY KEY, type TEXT, ids TEXT, way TEXT);
  CREATE TABLE IF NOT EXISTS place (
    only INTEGER PRIMARY KEY CHECK (only = 1), cursor TEXT, start TEXT, starts INTEGER)`;

/** What stores the record of a change. */
const STORE: Readonly<Record<string, string>> = {
  note: `INSERT OR REPLACE INTO notes (id, title, body)
    VALUES (?1 ->> '$.record.id', ?1 ->> '$.record.title', ?1 ->> '$.record.body')`,
  tag: `INSERT OR REPLACE INTO tags (id, name)
    VALUES (?1 ->> '$.record.id', ?1 ->> '$.record.name')`,
  comment: `INSERT OR REPLACE INTO comments (id, note_id, body)
    VALUES (?1 ->> '$.record.id', ?1 ->> '$.record.note_id', ?1 ->> '$.record.body')`,
};

/** What removes a record with its links, which get no change of their own. */
const REMOVE: Readonly<Record<string, readonly string[]>> = {
  note: [
    `DELETE FROM notes WHERE id = ?1 ->> '$.ids.note_id'`,
    `DELETE FROM note_tags WHERE note_id = ?1 ->> '$.ids.note_id'`,
  ],
  tag: [
    `DELETE FROM tags WHERE id = ?1 ->> '$.ids.tag_id'`,
    `DELETE FROM note_tags WHERE tag_id = ?1 ->> '$.ids.tag_id'`,
  ],
  comment: [`DELETE FROM comments WHERE id = ?1 ->> '$.ids.comment_id'`],
};

/** What changes a link. The records read at first may have the change already. */
const LINK: Readonly<Record<string, string>> = {
  'note.tagged': `INSERT OR IGNORE INTO note_tags (note_id, tag_id)
    VALUES (?1 ->> '$.ids.note_id', ?1 ->> '$.ids.tag_id')`,
  'note.untagged': `DELETE FROM note_tags
    WHERE note_id = ?1 ->> '$.ids.note_id' AND tag_id = ?1 ->> '$.ids.tag_id'`,
};

const EVENTS = ['created', 'updated', 'deleted'];

const REMEMBER = `INSERT INTO applied (number, type, ids, way)
  VALUES (?1 ->> '$.number', ?1 ->> '$.type', ?1 ->> '$.ids', ?1 ->> '$.way')`;

/** The tables that equal those of the service. */
const COPIES = ['notes', 'tags', 'comments', 'note_tags'] as const;

/** The database of a mirror. */
export class MirrorDatabase {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Opens the database at `path`; creates it if there is none. */
  static async open(path: string): Promise<MirrorDatabase> {
    const connection = await openConnection(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
    await connection.execute(`${PRAGMAS}; ${TABLES}`);
    return new MirrorDatabase(connection);
  }

  /** Resolves with the cursor; undefined before the first start. */
  async cursor(): Promise<string | undefined> {
    const [row] = await this.#rows('SELECT cursor FROM place');
    return row && String(row.cursor);
  }

  /** Resolves with the cursor at which the mirror last began to follow, and how often it did. */
  async start(): Promise<{ start: string; starts: number }> {
    const [row] = await this.#rows('SELECT start, starts FROM place');
    return { start: String(row?.start), starts: Number(row?.starts ?? 0) };
  }

  /** Replaces everything by `records`, which were read after `cursor`. */
  startOver(records: AllRecords, cursor: string): Promise<void> {
    return this.#transact(async () => {
      for (const table of [...COPIES, 'applied']) await this.#rows(`DELETE FROM ${table}`);
      for (const table of COPIES) {
        for (const record of records[table]) {
          const columns = Object.keys(record);
          const values = columns.map((name) => `?1 ->> '$.${name}'`);
          await this.#rows(`INSERT INTO ${table} (${columns}) VALUES (${values})`, record);
        }
      }
      await this.#rows(
        `INSERT INTO place (only, cursor, start, starts) VALUES (1, ?1 ->> '$', ?1 ->> '$', 1)
         ON CONFLICT DO UPDATE SET cursor = excluded.cursor, start = excluded.start,
           starts = starts + 1`,
        cursor,
      );
    });
  }

  /**
   * Applies changes together with the cursor after them. Rejects if they are out of order. None may
   * come again either, because the cursor is always that of the changes that were applied.
   */
  apply(changes: readonly MirroredChange[], next: string, way: Way): Promise<void> {
    return this.#transact(async () => {
      let last = numberOf((await this.cursor()) ?? '');
      for (const change of changes) {
        const { generation, number } = numberOf(change.id);
        assert.equal(generation, last.generation);
        assert.ok(number > last.number, `${change.id} comes after ${last.number}`);
        last = { generation, number };
        await this.#applyOne(change, number, way);
      }
      assert.ok(numberOf(next).number >= last.number, `${next} comes after ${last.number}`);
      await this.#rows(`UPDATE place SET cursor = ?1 ->> '$'`, next);
    });
  }

  /** Resolves with all records and links. */
  async records(): Promise<AllRecords> {
    const [notes, tags, comments, noteTags] = await Promise.all([
      this.#rows('SELECT id, title, body FROM notes ORDER BY id'),
      this.#rows('SELECT id, name FROM tags ORDER BY id'),
      this.#rows('SELECT id, note_id, body FROM comments ORDER BY id'),
      this.#rows('SELECT note_id, tag_id FROM note_tags ORDER BY note_id, tag_id'),
    ]);
    return { notes, tags, comments, note_tags: noteTags } as unknown as AllRecords;
  }

  /** Resolves with each applied change, such as `7 note.tagged {"note_id":1,"tag_id":2}`. */
  async applied(): Promise<string[]> {
    const rows = await this.#rows('SELECT number, type, ids FROM applied ORDER BY number');
    return rows.map(({ number, type, ids }) => `${number} ${type} ${ids}`);
  }

  /** Resolves with the types of the applied changes. */
  async types(): Promise<string[]> {
    return (await this.#rows('SELECT DISTINCT type FROM applied')).map(({ type }) => String(type));
  }

  /** Resolves with how many changes came this way. */
  async countBy(way: Way): Promise<number> {
    const sql = `SELECT count(*) AS count FROM applied WHERE way = ?1 ->> '$'`;
    return Number((await this.#rows(sql, way))[0]?.count);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #applyOne({ id, type, record, ...ids }: MirroredChange, number: number, way: Way) {
    const parameter = { number, type, ids, record, way };
    const [kind = '', event = ''] = type.split('.');
    const link = LINK[type];
    if (link) {
      await this.#rows(link, parameter);
    } else {
      const [store, remove] = [STORE[kind], REMOVE[kind]];
      assert.ok(store && remove && EVENTS.includes(event), `${type} is unknown`);
      assert.ok(record === null || event !== 'deleted', `${id} has a record`);
      for (const sql of record === null ? remove : [store]) await this.#rows(sql, parameter);
    }
    await this.#rows(REMEMBER, parameter);
  }

  #rows(sql: string, parameter?: unknown) {
    const given = parameter === undefined ? {} : { parameter: JSON.stringify(parameter) };
    return this.#connection.run({ sql, ...given });
  }

  async #transact(work: () => Promise<void>): Promise<void> {
    await this.#connection.execute('BEGIN IMMEDIATE');
    await work();
    await this.#connection.execute('COMMIT');
  }
}

function numberOf(cursor: string): { generation: string | undefined; number: number } {
  const [generation, number] = cursor.split('-');
  return { generation, number: Number(number) };
}
