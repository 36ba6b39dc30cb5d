// Random queries. Over HTTP, no query is a fault of the service, and no answer shows what SQLite
// says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { QUERY_BOUNDS } from '../../src/contract/generated.js';
import { parseQuery } from '../../src/search/query.ts';
import { startCommand, stop } from '../support/command.ts';
import { request } from '../support/http.ts';
import {
  assertProblem,
  type Conversation,
  converse,
  type RawAnswer,
  requestText,
} from '../support/raw.ts';
import { note, queries } from '../support/search-checks.ts';
import { until } from '../support/until.ts';

const QUERIES = 25_000;

function linesOfNotes(): string {
  const notes = fc.sample(note, { numRuns: 500, seed: 1 });
  return notes
    .map(([title, body]) => JSON.stringify({ title: `a${title}`, body: `b${body}` }))
    .join('\n');
}

const LANES = 10;

/** What only SQLite writes. */
const ERRORS = /fts5|sqlite|syntax error|malformed match/i;

/** Asserts that a query is answered 200, or 422 if it is none; returns whether it finds notes. */
function findsNotes(text: string, answer: RawAnswer): boolean {
  assert.doesNotMatch(answer.body, ERRORS, text);
  if ('fault' in parseQuery(text, QUERY_BOUNDS)) {
    assertProblem(answer, 'validation-failed');
    return false;
  }
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body).total > 0;
}

async function ask(
  { socket, answer }: Conversation,
  texts: readonly string[],
): Promise<[string, RawAnswer][]> {
  const paths = texts.map((text) => `/notes?q=${encodeURIComponent(text)}&include=snippet`);
  socket.write(paths.map((path) => requestText(`GET ${path}`)).join(''));
  const asked: [string, RawAnswer][] = [];
  for (const text of texts) asked.push([text, await answer()]);
  return asked;
}

/** Resolves with the number of queries that find notes. */
async function checkAnswers(
  service: { port: number },
  { numRuns }: { numRuns: number },
): Promise<number> {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => converse(service)));
  let successful = 0;
  await fc.assert(
    fc.asyncProperty(queries, async (texts) => {
      const asked = lanes.map((lane, index) =>
        ask(
          lane,
          texts.filter((_, each) => each % LANES === index),
        ),
      );
      // After a failure, fast-check sends more over the same connections.
      const answers = (await Promise.all(asked)).flat();
      successful += answers.filter(([text, answer]) => findsNotes(text, answer)).length;
    }),
    { numRuns: numRuns / 100 },
  );
  for (const { socket } of lanes) socket.destroy();
  return successful;
}

test(`search: ${QUERIES} random queries are answered 200 or 422`, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  const headers = { 'content-type': 'application/x-ndjson' };
  const created = await request(url, 'POST', '/notes', { body: linesOfNotes(), headers });
  assert.equal(created.status, 201);
  await until(async () => (await request(url, 'GET', '/notes?q=a')).status === 200);
  const half = () => checkAnswers({ port: Number(new URL(url).port) }, { numRuns: QUERIES / 2 });
  // One generates queries while the other waits for answers.
  const [one, other] = await Promise.all([half(), half()]);
  t.diagnostic(`${one + other} queries have found notes`);
  assert.ok(one + other > QUERIES / 20);
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});
