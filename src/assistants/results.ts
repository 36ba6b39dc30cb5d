// What a model gets to see of an answer: compact JSON, without what costs it much to read.
import type { Reply } from '../http/reply.ts';
import type { Members } from '../resources/resource.ts';
import type { requestOf } from './arguments.ts';

/** Returns the text of the reply to a request; only one that reads shows the body of a note. */
export function textOf(
  reply: Reply,
  { method, ids, part, body: sent }: ReturnType<typeof requestOf>,
): string {
  const { status, headers = [], body, large } = reply;
  if (status === 204) return JSON.stringify({ id: ids.note_id, deleted: true });
  const json = large ? Buffer.concat(large) : body;
  const answer: Members = JSON.parse(`${json}`);
  if (Array.isArray(answer.items)) return JSON.stringify(pageOf(answer, answer.items));
  const { body: shown, etag = headers[headers.indexOf('etag') + 1], ...members } = answer;
  const { tags = sent.tags } = members;
  const whole = `${shown}`;
  let characters = 0;
  for (let at = 0; at < whole.length; at = indexAfter(whole, at, 1)) characters += 1;
  // A model need not escape the quotes of a tag, and who writes knows the text.
  const bare = `${etag}`.replaceAll('"', '');
  const note = { ...members, tags, etag: bare, characters };
  if (method !== 'GET') return JSON.stringify(note);
  return JSON.stringify({ ...note, ...partOf(whole, characters, part) });
}

/** Adds to a page of a list how to go on, and leaves of a snippet only its text. */
function pageOf(page: Members, items: readonly Members[]): object {
  const end = Number(page.offset) + items.length;
  const next = end < Number(page.total) ? end : undefined;
  const short = items.map((item) => ({ ...item, snippet: Object(item.snippet).text }));
  return { ...page, items: short, next_offset: next };
}

/** Returns the part of a body that was asked for, and how to go on if more follows. */
function partOf(whole: string, characters: number, asked: Readonly<Record<string, number>>) {
  const { offset = 0, limit = 0 } = asked;
  const end = offset + limit;
  const remaining = characters - end;
  const start = indexAfter(whole, 0, offset);
  const part = { body: whole.slice(start, indexAfter(whole, start, limit)) };
  return remaining > 0 ? { ...part, remaining, next_offset: end } : part;
}

/** Returns the index after `count` characters from `start` on, at most the length of the text. */
function indexAfter(text: string, start: number, count: number): number {
  let index = start;
  for (let left = count; left > 0 && index < text.length; left -= 1)
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return index;
}
