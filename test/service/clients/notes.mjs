#!/usr/bin/env node
// A small client with the fetch of Node 20 or later, or of a browser. Copy what you need. It uses
// the service at NOTES_URL, with the key in NOTES_KEY if there is one.
const url = process.env.NOTES_URL ?? 'http://127.0.0.1:3000';
const key = process.env.NOTES_KEY;
const ATTEMPTS = 6;
const LINES = 'application/x-ndjson';

/**
 * An error that the service reports. `slug` is the last segment of its type; programs distinguish
 * problems by it. If a proxy has answered instead of the service, only the status is known.
 */
class Problem extends Error {
  constructor(status, said) {
    const {
      type = 'about:blank',
      detail = `the answer has status ${status} and is not from the service`,
      errors = [],
    } = said ?? {};
    super(detail);
    this.slug = type.split('/').at(-1);
    this.errors = errors;
  }
}

/** Resolves with the JSON of an answer, a list if it has lines of JSON; undefined if it has none. */
async function jsonOf(answer) {
  const text = await answer.text();
  try {
    const isLines = answer.headers.get('content-type') === LINES;
    return isLines ? text.trim().split('\n').map(JSON.parse) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns what `fetch` sends: a record as JSON, a list of records as lines of JSON. */
function requestOf(method, record, headers) {
  const isList = Array.isArray(record);
  return {
    method,
    headers: {
      ...headers,
      ...(key && { authorization: `Bearer ${key}` }),
      ...(record && { 'content-type': isList ? LINES : 'application/json' }),
      // With a key of its own, a POST can be repeated: the service creates nothing twice.
      ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }),
    },
    body: isList ? record.map((each) => JSON.stringify(each)).join('\n') : JSON.stringify(record),
  };
}

/**
 * Sends a request and resolves with the record of the answer, if it has one, and with its headers.
 * Rejects with a Problem.
 */
async function call(method, path, sent, headers) {
  const request = requestOf(method, sent, headers);
  for (let attempt = 1; ; attempt += 1) {
    let seconds = 1;
    try {
      const answer = await fetch(`${url}${path}`, request);
      const record = await jsonOf(answer);
      const isComplete = record !== undefined || answer.status === 204;
      if (answer.ok && isComplete) return { record, headers: answer.headers };
      // After a 429 or 503, the service says how many seconds to wait; a proxy may send a date.
      const later = answer.status === 429 || answer.status === 503;
      if (!later || attempt === ATTEMPTS) throw new Problem(answer.status, record);
      seconds = Number(answer.headers.get('retry-after')) || 1;
    } catch (error) {
      // The connection broke. Whether the request was performed is unknown, so it is repeated.
      if (error instanceof Problem || attempt === ATTEMPTS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

/** Yields all records of a list, page by page. `query` chooses the first page. */
async function* all(path, query) {
  for (let next = query; next !== undefined; ) {
    const { record: page, headers } = await call('GET', `${path}?${next}`);
    yield* page.items;
    // The link is absolute. Its query is enough, and the key is sent to no other host.
    next = /<[^>]*\?([^>]*)>; rel="next"/.exec(headers.get('link'))?.[1];
  }
}

/** Resolves with the titles of the notes of a list. */
async function titlesOf(path, query) {
  const titles = [];
  for await (const note of all(path, query)) titles.push(note.title);
  return titles.join(', ');
}

/** Resolves with the problem with which `promise` rejects. */
async function problemOf(promise) {
  return promise.then(
    () => new Error('there should have been a problem'),
    (problem) => problem,
  );
}

async function main() {
  const text = 'Milk 🥛\nBread "and butter"\nC:\\apples';
  const { record: first } = await call('POST', '/notes', { title: 'Shopping list 🛒', body: text });
  // Create several at once: all of them or none.
  const lines = ['Second', 'Third', 'Fourth', 'Fifth'].map((title) => ({ title, body: text }));
  const [second] = (await call('POST', '/notes', lines)).record;
  const { record: read, headers } = await call('GET', `/notes/${first.id}`);
  if (read.body !== text) throw new Error('the text came back changed');

  // Send the whole record back, unless somebody else has changed it since. The service ignores
  // members that it does not know, such as the id.
  read.title = `${read.title} ✅`;
  const isUnchanged = { 'if-match': headers.get('etag') };
  await call('PUT', `/notes/${first.id}`, read, isUnchanged);
  const late = await problemOf(call('PUT', `/notes/${first.id}`, read, isUnchanged));
  if (late.slug !== 'precondition-failed') throw late;

  const { record: errands } = await call('POST', '/tags', { name: 'errands' });
  await call('PUT', `/notes/${first.id}/tags/${errands.id}`);
  await call('POST', `/notes/${first.id}/comments`, { body: 'Oat milk,\nplease 🙏' });
  await call('DELETE', `/notes/${second.id}`);

  const gone = await problemOf(call('GET', `/notes/${second.id}`));
  if (gone.slug !== 'not-found') throw gone;
  const refused = await problemOf(call('POST', '/notes', { title: ' ', body: 'b' }));
  if (refused.slug !== 'validation-failed') throw refused;
  for (const { field, detail } of refused.errors) console.log(`refused: ${field} ${detail}`);

  // With `after`, no note is missed if another client deletes one meanwhile.
  console.log(`notes: ${await titlesOf('/notes', 'after=0&limit=2')}`);
  console.log(`${errands.name}: ${await titlesOf(`/tags/${errands.id}/notes`, 'order=-updated')}`);
  const words = new URLSearchParams({ q: 'shop* "bread and butter" -fifth' });
  console.log(`found: ${await titlesOf('/notes', words)}`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(`notes.mjs: ${error.message}`);
  process.exitCode = 1;
}
