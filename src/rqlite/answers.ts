// Reads what a node of an rqlite cluster answers.
import type { IncomingMessage } from 'node:http';
import { AnswerTooLarge, DatabaseUnavailable, type Row } from '../storage/database.ts';

/** What SQLite reports if a node cannot carry out what other nodes may carry out. */
export const NODE_FAILURE =
  /\b(?:disk is full|disk I\/O error|unable to open|readonly|malformed|locked|busy|memory)\b/;

/** Every answer of rqlite has it. */
export const VERSION_HEADER = 'x-rqlite-version';

/** What a statement has done. */
export interface Result {
  readonly rows?: readonly Row[] | null;
  readonly last_insert_id?: number;
  readonly error?: string;
}

/** Returns the first result with an error; without one, an empty result. */
export function failureOf({ results }: { readonly results: readonly Result[] }): Result {
  return results.find(({ error }) => error !== undefined) ?? {};
}

/** Resolves with the text of an answer; rejects beyond `maxBytes`. */
export async function textOf(message: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY) {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) {
    text += chunk;
    if (text.length > maxBytes) throw new AnswerTooLarge('the answer is too large');
  }
  return text;
}

/** Rejects unless the node accepts a request. */
export async function accepted(message: IncomingMessage, path: string): Promise<IncomingMessage> {
  const { statusCode: status, headers } = message;
  if (status === 200) return message;
  const text = await textOf(message);
  if (status === 401) {
    const reason = 'wrong user name or password, or the user lacks the permission';
    throw new DatabaseUnavailable(`the cluster refuses ${path.split('?', 1)}: ${reason}`);
  }
  throw new Error(`status ${status}${VERSION_HEADER in headers ? `: ${text.slice(0, 200)}` : ''}`);
}

/** Returns the results of `count` statements and their index in the log; throws without them. */
export function answerIn(text: string, count: number) {
  const answer: { results?: readonly Result[]; error?: string; raft_index?: number } =
    JSON.parse(text);
  const { results, error, raft_index: index } = answer;
  // Sent again, it could be carried out in another order than by the other nodes.
  if (error !== undefined && NODE_FAILURE.test(error)) return { results: [{ error }], index };
  if (error !== undefined || !results) throw new Error(error ?? 'an answer without results');
  // After the first error of a transaction, the other results are missing.
  if (results.length !== count && !results.some((result) => result.error))
    throw new Error('an answer with too few results');
  return { results, index };
}
