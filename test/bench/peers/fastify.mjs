// The peer: Fastify with schemas on, and better-sqlite3 with the same durability as ours (WAL, synchronous FULL).
import Database from 'better-sqlite3';
import Fastify from 'fastify';

const [port, file] = process.argv.slice(2);

const database = new Database(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.pragma('cache_size = -65536');
database.exec(
  'CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
);
const readOne = database.prepare('SELECT id, title, body FROM notes WHERE id = ?');
const readPage = database.prepare('SELECT id, title, body FROM notes ORDER BY id LIMIT ? OFFSET ?');
const countAll = database.prepare('SELECT count(*) AS total FROM notes');
const insert = database.prepare('INSERT INTO notes (title, body) VALUES (?, ?)');
const update = database.prepare('UPDATE notes SET title = ?, body = ? WHERE id = ?');

const integer = { type: 'integer' };
const text = (maxLength) => ({ type: 'string', minLength: 1, maxLength, pattern: '\\S' });
const note = {
  type: 'object',
  properties: { id: integer, title: { type: 'string' }, body: { type: 'string' } },
  required: ['id', 'title', 'body'],
};
const body = {
  type: 'object',
  properties: { title: text(500), body: text(100_000) },
  required: ['title', 'body'],
};
const params = { type: 'object', properties: { id: integer } };
const querystring = {
  type: 'object',
  properties: {
    limit: { ...integer, minimum: 1, maximum: 100, default: 20 },
    offset: { ...integer, minimum: 0, default: 0 },
  },
};
const envelope = {
  type: 'object',
  properties: { items: { type: 'array', items: note }, limit: integer, offset: integer, total: integer },
};

const app = Fastify();
app.get('/notes/:id', { schema: { params, response: { 200: note } } }, ({ params: { id } }, reply) => {
  return readOne.get(id) ?? reply.code(404).send();
});
app.get('/notes', { schema: { querystring, response: { 200: envelope } } }, ({ query: { limit, offset } }) => {
  return { items: readPage.all(limit, offset), limit, offset, total: countAll.get().total };
});
app.post('/notes', { schema: { body, response: { 201: note } } }, ({ body: { title, body: content } }, reply) => {
  reply.code(201);
  return { id: insert.run(title, content).lastInsertRowid, title, body: content };
});
app.put('/notes/:id', { schema: { params, body, response: { 200: note } } }, (request, reply) => {
  const { id } = request.params;
  const { title, body: content } = request.body;
  return update.run(title, content, id).changes === 1 ? { id, title, body: content } : reply.code(404).send();
});
await app.listen({ port: Number(port), host: '127.0.0.1' });
