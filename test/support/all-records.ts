// Reads all records of a service as a client does.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';

interface Note {
  readonly id: number;
  readonly title: string;
  readonly body: string;
}

interface Tag {
  readonly id: number;
  readonly name: string;
}

interface Comment {
  readonly id: number;
  readonly note_id: number;
  readonly body: string;
}

interface NoteTag {
  readonly note_id: number;
  readonly tag_id: number;
}

/** All records and links, each in the order of the ids. */
export interface AllRecords {
  readonly notes: readonly Note[];
  readonly tags: readonly Tag[];
  readonly comments: readonly Comment[];
  readonly note_tags: readonly NoteTag[];
}

/** Sends a GET request until it is answered, and not with 503. */
type Get = (path: string) => Promise<Answer>;

/** How many notes have their comments read at the same time. */
const AT_ONCE = 8;

/** Reads all records. Others may write meanwhile; then each record is in a state of this time. */
export async function readAllRecords(get: Get): Promise<AllRecords> {
  const linked = await readList<Note & { tag_ids: number[] }>(get, '/notes', '&include=tag_ids');
  const tags = await readList<Tag>(get, '/tags');
  const comments: Comment[] = [];
  for (let start = 0; start < linked.length; start += AT_ONCE) {
    const some = linked.slice(start, start + AT_ONCE);
    const lists = await Promise.all(
      some.map(({ id }) => readList<Comment>(get, `/notes/${id}/comments`)),
    );
    comments.push(...lists.flat());
  }
  return {
    notes: linked.map(({ tag_ids: _, ...note }) => note),
    tags,
    comments: comments.sort((one, other) => one.id - other.id),
    note_tags: linked.flatMap(({ id, tag_ids: ids }) =>
      ids.map((tagId) => ({ note_id: id, tag_id: tagId })),
    ),
  };
}

/** Reads a list; it is empty if its note has been deleted. */
async function readList<Item extends { readonly id: number }>(
  get: Get,
  path: string,
  query = '',
): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const answer = await get(`${path}?limit=100&after=${items.at(-1)?.id ?? 0}${query}`);
    if (answer.status === 404) return [];
    assert.equal(answer.status, 200, answer.text);
    const page = answer.json.items as Item[];
    if (page.length === 0) return items;
    items.push(...page);
  }
}
