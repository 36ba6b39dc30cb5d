// The records of a client that follows the changes of a service.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';

const AT_ONCE = 8;

const SHOWN = 5;
const SHOWN_CHARACTERS = 200;

/** The JSON of records by names such as `note 1`; a tag on a note is `tagged NOTE TAG`. */
export type Records = Map<string, string>;

/** A change as the service sends it with `include=record`. */
export interface Change {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly record: object | null;
  readonly note_id?: number;
  readonly tag_id?: number;
  readonly comment_id?: number;
}

/** Carries out a change. */
export function applyChange(records: Records, { type, record, ...ids }: Change): void {
  const [kind = '', event = ''] = type.split('.');
  const tagged = `tagged ${ids.note_id} ${ids.tag_id}`;
  const name = `${kind} ${ids[`${kind}_id` as keyof typeof ids]}`;
  if (event === 'tagged') records.set(tagged, '');
  else if (event === 'untagged') records.delete(tagged);
  // What is deleted has a record if it has been restored since.
  else if (record && event !== 'deleted') records.set(name, JSON.stringify(record));
  else remove(records, kind, name);
}

/** Removes a record with its tags on notes, which get no change of their own. */
function remove(records: Records, kind: string, name: string): void {
  records.delete(name);
  if (kind === 'comment') return;
  const [, id] = name.split(' ');
  for (const other of [...records.keys()]) {
    const [type, note, tag] = other.split(' ');
    const isOf = (kind === 'note' && note === id) || (kind === 'tag' && tag === id);
    if (type === 'tagged' && isOf) records.delete(other);
  }
}

/** Reads all records. Others may write meanwhile; then each is in a state of this time. */
export async function readRecords(get: (path: string) => Promise<Answer>): Promise<Records> {
  const records: Records = new Map();
  async function readList(kind: string, path: string, query = ''): Promise<number[]> {
    const ids: number[] = [];
    for (;;) {
      const answer = await get(`${path}?limit=100&after=${ids.at(-1) ?? 0}${query}`);
      // Its note has been deleted.
      if (answer.status === 404) return [];
      assert.equal(answer.status, 200, answer.text);
      if (answer.json.items.length === 0) return ids;
      for (const { tag_ids: tags = [], ...record } of answer.json.items) {
        ids.push(record.id);
        records.set(`${kind} ${record.id}`, JSON.stringify(record));
        for (const tag of tags) records.set(`tagged ${record.id} ${tag}`, '');
      }
    }
  }
  const notes = await readList('note', '/notes', '&include=tag_ids');
  await readList('tag', '/tags');
  for (let start = 0; start < notes.length; start += AT_ONCE) {
    const some = notes.slice(start, start + AT_ONCE);
    await Promise.all(some.map((id) => readList('comment', `/notes/${id}/comments`)));
  }
  return records;
}

/** Asserts that both are the same. */
export function assertSameRecords(found: Records, expected: Records): void {
  const lines = (records: Records) => Array.from(records, ([name, text]) => `${name} ${text}`);
  assertSameLines(lines(found), lines(expected), 'records');
}

/** Compares without showing everything. */
export function assertSameLines(
  found: readonly string[],
  expected: readonly string[],
  name: string,
): void {
  const [has, needs] = [new Set(found), new Set(expected)];
  const some = (lines: readonly string[]) =>
    lines.slice(0, SHOWN).map((line) => line.slice(0, SHOWN_CHARACTERS));
  const surplus = some(found.filter((line) => !needs.has(line)));
  const missing = some(expected.filter((line) => !has.has(line)));
  assert.deepEqual({ name, surplus, missing }, { name, surplus: [], missing: [] });
  assert.equal(found.length, expected.length, name);
}
