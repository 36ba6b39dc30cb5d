// What a model gets to see of an answer: compact JSON, without what costs it much to read.
import { countCharacters } from '../characters.ts';
import type { Reply } from '../http/reply.ts';
import type { Members } from '../resources/resource.ts';
import type { ToolRequest } from './arguments.ts';

/** What precedes the body in the answer to a GET of a part of it, which ends with the body. */
const BODY = ',"body":';

/** Returns the text of the reply to a request; only one that reads shows the body of a note. */
export function textOf(reply: Reply, { method, ids, query, body: sent }: ToolRequest): string {
  const { status, headers = [], createdIds = {} } = reply;
  if (status === 204)
    return JSON.stringify({ id: createdIds.note_id ?? ids.note_id, deleted: true });
  const text = textIn(reply);
  // Texts have no such quotes, and a long body is not parsed.
  const at = query.has('body_limit') ? text.indexOf(BODY) : -1;
  const answer: Members = JSON.parse(at === -1 ? text : `${text.slice(0, at)}}`);
  if (Array.isArray(answer.items)) return JSON.stringify(pageOf(answer, answer.items));
  const { body, etag = headers[headers.indexOf('etag') + 1], ...members } = answer;
  const { tags = sent.tags } = members;
  // A model need not escape the quotes of a tag, and who writes knows the text.
  const note = { ...members, tags, etag: `${etag}`.replaceAll('"', '') };
  if (method !== 'GET') return JSON.stringify({ ...note, characters: countCharacters(`${body}`) });
  const end = Number(query.get('body_offset')) + Number(query.get('body_limit'));
  const remaining = Number(members.characters) - end;
  const rest = remaining > 0 ? `,"remaining":${remaining},"next_offset":${end}` : '';
  return `${JSON.stringify(note).slice(0, -1)}${text.slice(at, -1)}${rest}}`;
}

/** Resolves with the text of a page of changes, each with the title of its note. */
export async function changesOf(
  reply: Reply,
  titleOf: (id: string) => Promise<unknown>,
): Promise<string> {
  const { items, ...page } = JSON.parse(textIn(reply));
  const titles = new Map<unknown, unknown>();
  const shown: object[] = [];
  for (const { id: _, record, ...change } of items) {
    const { note_id: note } = change;
    // A tag has a name, a comment neither.
    const own = record?.title ?? record?.name;
    if (own === undefined && !titles.has(note))
      titles.set(note, note && (await titleOf(`${note}`)));
    if (own !== undefined && note !== undefined) titles.set(note, own);
    shown.push({ ...change, title: own ?? titles.get(note) ?? null });
  }
  return JSON.stringify({ items: shown, ...page });
}

function textIn({ body, large }: Reply): string {
  return `${large ? Buffer.concat(large) : body}`;
}

/** Adds to a page of a list how to go on, and leaves of a snippet only its text. */
function pageOf(page: Members, items: readonly Members[]): object {
  const end = Number(page.offset) + items.length;
  const next = end < Number(page.total) ? end : undefined;
  const short = items.map((item) => ({ ...item, snippet: Object(item.snippet).text }));
  return { ...page, items: short, next_after: next };
}
