// Hono on its Node.js server, validation by Ajv, and better-sqlite3.
import { serve } from '@hono/node-server';
import Database from 'better-sqlite3';
import { Hono } from 'hono';
import { openNotes, validators } from './notes.mjs';

const [port, file] = process.argv.slice(2);
const notes = openNotes(new Database(file));
const { isBody, isParameters, isQuery } = validators();
const app = new Hono();

app.get('/notes/:id', (context) => {
  const parameters = context.req.param();
  if (!isParameters(parameters)) return context.json(isParameters.errors, 422);
  const note = notes.read(parameters.id);
  return note ? context.json(note) : context.notFound();
});
app.get('/notes', (context) => {
  const query = context.req.query();
  if (!isQuery(query)) return context.json(isQuery.errors, 422);
  return context.json(notes.page(query.limit, query.offset));
});
app.post('/notes', async (context) => {
  const body = await context.req.json();
  return isBody(body) ? context.json(notes.create(body), 201) : context.json(isBody.errors, 422);
});
app.put('/notes/:id', async (context) => {
  const parameters = context.req.param();
  const body = await context.req.json();
  if (!isParameters(parameters)) return context.json(isParameters.errors, 422);
  if (!isBody(body)) return context.json(isBody.errors, 422);
  const note = notes.replace(parameters.id, body);
  return note ? context.json(note) : context.notFound();
});
serve({ fetch: app.fetch, port: Number(port), hostname: '127.0.0.1' });
