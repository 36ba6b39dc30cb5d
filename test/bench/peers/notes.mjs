// The code that the peers share, so that they differ only in framework and SQLite binding: the
// statements, with the same durability as ours (WAL, synchronous FULL), and the schemas. Both
// bindings support the calls that are used here.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';

/** The limits are those of our contract. */
const { NoteTitle, NoteBody, PageLimit } = JSON.parse(
  readFileSync(new URL('../../../schemas/openapi.json', import.meta.url), 'utf8'),
).components.schemas;

/** Opens the notes in `database`, a better-sqlite3 or bun:sqlite database. */
export function openNotes(database) {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536');
  database.exec(
    'CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
  );
  const readOne = database.prepare('SELECT id, title, body FROM notes WHERE id = ?');
  const readPage = database.prepare(
    'SELECT id, title, body FROM notes ORDER BY id LIMIT ? OFFSET ?',
  );
  const countAll = database.prepare('SELECT count(*) AS total FROM notes');
  const insert = database.prepare('INSERT INTO notes (title, body) VALUES (?, ?)');
  const update = database.prepare('UPDATE notes SET title = ?, body = ? WHERE id = ?');
  return {
    read: (id) => readOne.get(id) ?? undefined,
    page: (limit, offset) => ({
      items: readPage.all(limit, offset),
      limit,
      offset,
      total: countAll.get().total,
    }),
    create: ({ title, body }) => ({
      id: Number(insert.run(title, body).lastInsertRowid),
      title,
      body,
    }),
    replace: (id, { title, body }) =>
      update.run(title, body, id).changes === 1 ? { id, title, body } : undefined,
  };
}

const integer = { type: 'integer' };
const text = ({ maxLength }) => ({ type: 'string', minLength: 1, maxLength, pattern: '\\S' });

export const NOTE = {
  type: 'object',
  properties: { id: integer, title: { type: 'string' }, body: { type: 'string' } },
  required: ['id', 'title', 'body'],
};
export const BODY = {
  type: 'object',
  properties: { title: text(NoteTitle), body: text(NoteBody) },
  required: ['title', 'body'],
};
export const PARAMETERS = { type: 'object', properties: { id: integer } };
export const QUERY = {
  type: 'object',
  properties: {
    limit: { ...integer, minimum: PageLimit.minimum, maximum: PageLimit.maximum, default: 20 },
    offset: { ...integer, minimum: 0, default: 0 },
  },
};
export const PAGE = {
  type: 'object',
  properties: {
    items: { type: 'array', items: NOTE },
    limit: integer,
    offset: integer,
    total: integer,
  },
};

/**
 * Returns validators for the frameworks without their own. As in Fastify, they convert types and
 * add defaults.
 */
export function validators() {
  const ajv = new Ajv({ coerceTypes: true, useDefaults: true });
  return {
    isBody: ajv.compile(BODY),
    isParameters: ajv.compile(PARAMETERS),
    isQuery: ajv.compile(QUERY),
  };
}
