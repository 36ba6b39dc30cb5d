#!/usr/bin/env node
// A small client with the fetch of Node 18 or later, or of a browser. Copy what you need. It uses
// the service at NOTES_URL, with the key in NOTES_KEY if there is one.
const url = process.env.NOTES_URL ?? 'http://127.0.0.1:3000';
const key = process.env.NOTES_KEY;
const ATTEMPTS = 6;

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

/** Resolves with the JSON of an answer; undefined if it has none. */
async function jsonOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Sends a request and resolves with the record of the answer, if it has one. Rejects with a
 * Problem.
 */
async function call(method, path, record) {
  const headers = {};
  if (key) headers.authorization = `Bearer ${key}`;
  if (record) headers['content-type'] = 'application/json';
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      body: record && JSON.stringify(record),
    });
    if (answer.status === 204) return undefined;
    const said = await jsonOf(answer);
    if (answer.ok && said !== undefined) return said;
    // After a 429 or 503, the service says how many seconds to wait; a proxy may send a date.
    const later = answer.status === 429 || answer.status === 503;
    if (!later || attempt === ATTEMPTS) throw new Problem(answer.status, said);
    const seconds = Number(answer.headers.get('retry-after')) || 1;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

/** Yields all records of a list, page by page. */
async function* all(path, limit = 2) {
  for (let offset = 0, total = 1; offset < total; offset += limit) {
    const page = await call('GET', `${path}?limit=${limit}&offset=${offset}`);
    yield* page.items;
    total = page.total;
  }
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
  const made = [];
  for (const title of ['Shopping list 🛒', 'Second', 'Third', 'Fourth', 'Fifth']) {
    made.push(await call('POST', '/notes', { title, body: text }));
  }
  const [first, second] = made;
  const read = await call('GET', `/notes/${first.id}`);
  if (read.body !== text) throw new Error('the text came back changed');

  // Send the whole record back: the service ignores members that it does not know, such as the id.
  read.title = `${read.title} ✅`;
  await call('PUT', `/notes/${first.id}`, read);

  const tag = await call('POST', '/tags', { name: 'errands' });
  await call('POST', `/notes/${first.id}/comments`, { body: 'Oat milk,\nplease 🙏' });
  await call('DELETE', `/notes/${second.id}`);

  const gone = await problemOf(call('GET', `/notes/${second.id}`));
  if (gone.slug !== 'not-found') throw gone;
  const refused = await problemOf(call('POST', '/notes', { title: ' ', body: 'b' }));
  if (refused.slug !== 'validation-failed') throw refused;
  for (const { field, detail } of refused.errors) console.log(`refused: ${field} ${detail}`);

  const titles = [];
  for await (const note of all('/notes')) titles.push(note.title);
  console.log(`${titles.length} notes: ${titles.join(', ')}; tag ${tag.name}`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(`notes.mjs: ${error.message}`);
  process.exitCode = 1;
}
