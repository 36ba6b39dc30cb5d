// Express, validation by Ajv, and better-sqlite3.
import Database from 'better-sqlite3';
import express from 'express';
import { openNotes, validators } from './notes.mjs';

const [port, file] = process.argv.slice(2);
const notes = openNotes(new Database(file));
const { isBody, isParameters, isQuery } = validators();
const app = express();
app.use(express.json());

function check(isValid, value, response) {
  if (isValid(value)) return true;
  response.status(422).json(isValid.errors);
  return false;
}

app.get('/notes/:id', (request, response) => {
  const parameters = { ...request.params };
  if (!check(isParameters, parameters, response)) return;
  const note = notes.read(parameters.id);
  if (note) response.json(note);
  else response.sendStatus(404);
});
app.get('/notes', (request, response) => {
  const query = { ...request.query };
  if (check(isQuery, query, response)) response.json(notes.page(query.limit, query.offset));
});
app.post('/notes', (request, response) => {
  if (check(isBody, request.body, response)) response.status(201).json(notes.create(request.body));
});
app.put('/notes/:id', (request, response) => {
  const parameters = { ...request.params };
  if (!check(isParameters, parameters, response) || !check(isBody, request.body, response)) return;
  const note = notes.replace(parameters.id, request.body);
  if (note) response.json(note);
  else response.sendStatus(404);
});
app.listen(Number(port), '127.0.0.1');
