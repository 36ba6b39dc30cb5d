// Fastify with its own validation and serialization, and better-sqlite3.
import Database from 'better-sqlite3';
import Fastify from 'fastify';
import { BODY, NOTE, openNotes, PAGE, PARAMETERS, QUERY } from './notes.mjs';

const [port, file] = process.argv.slice(2);
const notes = openNotes(new Database(file));
const app = Fastify();

app.get(
  '/notes/:id',
  { schema: { params: PARAMETERS, response: { 200: NOTE } } },
  ({ params: { id } }, reply) => {
    return notes.read(id) ?? reply.code(404).send();
  },
);
app.get(
  '/notes',
  { schema: { querystring: QUERY, response: { 200: PAGE } } },
  ({ query: { limit, offset } }) => {
    return notes.page(limit, offset);
  },
);
app.post('/notes', { schema: { body: BODY, response: { 201: NOTE } } }, ({ body }, reply) => {
  reply.code(201);
  return notes.create(body);
});
app.put(
  '/notes/:id',
  { schema: { params: PARAMETERS, body: BODY, response: { 200: NOTE } } },
  ({ params: { id }, body }, reply) => notes.replace(id, body) ?? reply.code(404).send(),
);
await app.listen({ port: Number(port), host: '127.0.0.1' });
