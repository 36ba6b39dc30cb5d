// Bun: its own server and routes, validation by Ajv, and bun:sqlite.
import { Database } from 'bun:sqlite';
import { openNotes, validators } from './notes.mjs';

const [port, file] = process.argv.slice(2);
const notes = openNotes(new Database(file));
const { isBody, isParameters, isQuery } = validators();
const refused = ({ errors }) => Response.json(errors, { status: 422 });
const missing = () => new Response(null, { status: 404 });

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  routes: {
    '/notes/:id': {
      GET({ params: { id } }) {
        const parameters = { id };
        if (!isParameters(parameters)) return refused(isParameters);
        const note = notes.read(parameters.id);
        return note ? Response.json(note) : missing();
      },
      async PUT(request) {
        const parameters = { id: request.params.id };
        const body = await request.json();
        if (!isParameters(parameters)) return refused(isParameters);
        if (!isBody(body)) return refused(isBody);
        const note = notes.replace(parameters.id, body);
        return note ? Response.json(note) : missing();
      },
    },
    '/notes': {
      GET({ url }) {
        const start = url.indexOf('?');
        const query =
          start === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(start + 1)));
        return isQuery(query)
          ? Response.json(notes.page(query.limit, query.offset))
          : refused(isQuery);
      },
      async POST(request) {
        const body = await request.json();
        return isBody(body) ? Response.json(notes.create(body), { status: 201 }) : refused(isBody);
      },
    },
  },
});
