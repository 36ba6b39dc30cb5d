// Random queries over HTTP.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { QUERY_BOUNDS } from '../../src/contract/generated.js';
import { parseQuery } from '../../src/search/query.ts';
import {
  assertProblem,
  type Conversation,
  converse,
  type RawAnswer,
  requestText,
} from '../support/raw.ts';
import { note, queries } from '../support/search-checks.ts';

/** Returns the JSON of 500 random notes, a line for each. */
export function linesOfNotes(): string {
  const notes = fc.sample(note, { numRuns: 500, seed: 1 });
  return notes
    .map(([title, body]) => JSON.stringify({ title: `a${title}`, body: `b${body}` }))
    .join('\n');
}

/** How many connections send the queries of a batch. */
const CONNECTIONS = 10;

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

/** Sends queries at once; resolves with each of them and its answer. */
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

/**
 * Sends random queries and checks the answers. Resolves with the number of queries that find
 * notes.
 */
export async function checkAnswers(
  service: { port: number },
  { numRuns }: { numRuns: number },
): Promise<number> {
  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => converse(service)),
  );
  let successful = 0;
  await fc.assert(
    fc.asyncProperty(queries, async (texts) => {
      const asked = connections.map((connection, index) =>
        ask(
          connection,
          texts.filter((_, each) => each % CONNECTIONS === index),
        ),
      );
      // After a failure, fast-check sends more over the same connections.
      const answers = (await Promise.all(asked)).flat();
      successful += answers.filter(([text, answer]) => findsNotes(text, answer)).length;
    }),
    { numRuns: numRuns / 100 },
  );
  for (const { socket } of connections) socket.destroy();
  return successful;
}
