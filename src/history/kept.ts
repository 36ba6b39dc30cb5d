// What is kept of notes, as answers show it: notes in the trash, and the versions of a note.
import { BLOCK_BITS, type ListExtension } from '../list-extension.ts';
import { membersSql, ownMembers } from '../records/text.ts';
import type { Stored } from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import type { Source } from '../storage/database.ts';
import { tagSql } from '../storage/numbers.ts';
import { timeSql } from '../time.ts';
import {
  deletedNotes,
  FIRST_POSITION,
  isVersionKept,
  MAX_VERSIONS,
  SHOWN,
  thinning,
} from './schema.ts';

/** The table with the number of days for which texts are kept. */
export const SETTINGS = 'notes_server_history';

/** The trash. In SQL, `?1 ->> 0` is the id of a note. */
export const TRASH = {
  table: 'deleted_notes',
  /** The named queries that the others use. */
  named: '',
  /** The condition of the rows of a list, and the column of which the greatest comes first. */
  isListed: deletedNotes.isShown('TRUE'),
  order: 'position',
  /** What a page follows or precedes. */
  key: 'position',
  /** Whether the time of a page grows with the rows. */
  isSlow: false,
  total: `
    SELECT coalesce(sum(count), 0) FROM ${deletedNotes.blocks}
    WHERE block >= ${FIRST_POSITION} >> ${BLOCK_BITS}`,
  /** The condition of a single row. */
  isWanted: 'id = ?1 ->> 0',
  /** What identifies the state, by number: when it is erased depends on the days, too. */
  number: `(deleted_notes.number || format('%05d', (SELECT days FROM ${SETTINGS})))`,
  members: [
    ...ownMembers({ ...notes, table: 'deleted_notes' }).map(({ name, sql }) => ({ name, sql })),
    { name: 'deleted_at', sql: timeSql('deleted_at') },
    { name: 'erased_at', sql: timeSql(`(deleted_at + (SELECT days FROM ${SETTINGS}) * 86400000)`) },
    { name: 'name', sql: 'name' },
  ],
};

export type KeptList = typeof TRASH;

/** Returns the notes in the trash that a list has; `?1 ->> 4` are the forms of words to find. */
export function trashWith(title: string | undefined): KeptList {
  if (title === undefined) return TRASH;
  const hasAll = `NOT EXISTS (
    SELECT 1 FROM json_each(?1 -> 4) AS word WHERE NOT EXISTS (
      SELECT 1 FROM json_each(word.value) AS form
      WHERE instr(lower(title), lower(form.value)) > 0))`;
  const isListed = `${TRASH.isListed} AND ${hasAll}`;
  const total = `SELECT count(*) FROM ${TRASH.table} WHERE ${isListed}`;
  return { ...TRASH, isListed, total, isSlow: true };
}

/** Returns how each word of a text may be written: lower() of SQLite knows only ASCII. */
export function wordForms(text = ''): readonly (readonly string[])[] {
  const words = text.split(/\s+/).filter(Boolean);
  return words.map((word) => {
    const [first = '', ...rest] = word.toLowerCase();
    return [word, word.toLowerCase(), word.toUpperCase(), first.toUpperCase() + rest.join('')];
  });
}

/** The versions of a note, unless it is in the trash. */
export const VERSIONS: KeptList = {
  table: 'note_versions',
  named: `
    WITH listed (id) AS MATERIALIZED (
      ${thinning(`(SELECT id FROM ${notes.table} WHERE id = ?1 ->> 0)`, SHOWN)})`,
  isListed: 'id IN listed',
  order: 'id',
  key: 'version',
  isSlow: false,
  total: 'SELECT count(*) FROM listed',
  isWanted: 'version = ?1 ->> 1',
  number: 'version',
  members: [
    ...['version', 'title', 'body'].map((name) => ({ name, sql: name })),
    ...['updated_at', 'replaced_at'].map((name) => ({ name, sql: timeSql(name) })),
  ],
};

/** The number of versions of a note, as a member of lists. */
export const versionsInLists: ListExtension = (resource) => {
  if (resource !== notes) return {};
  const kept = isVersionKept('note_versions');
  const all = `SELECT count(*) FROM note_versions WHERE note_id = notes.id AND ${kept}`;
  return { included: { versions_count: `min((${all}), ${MAX_VERSIONS})` } };
};

/** What a note has of versions, in words. */
export const LATEST = `
  ${VERSIONS.named}
  SELECT coalesce('latest first: ' || group_concat(
    format('%d (replaced at %s)', version, at), ', ' ORDER BY id DESC), 'but it has none') AS texts
  FROM (SELECT id, version, coalesce(${timeSql('replaced_at')}, 'an unknown time') AS at
        FROM note_versions WHERE ${VERSIONS.isListed} ORDER BY id DESC LIMIT 5)`;

/** Resolves with a text as JSON, and with the tag that its note had. */
export async function readKept(
  { read }: Source,
  { named, table, isListed, isWanted, number, members }: KeptList,
  ...key: [id: number, version?: number]
): Promise<Stored | undefined> {
  const sql = `
    ${named}
    SELECT json_object(${membersSql(members)}) AS text, ${tagSql(number)} AS tag
    FROM ${table} WHERE ${isListed} AND ${isWanted}`;
  const [row] = await read({ sql, parameter: JSON.stringify(key) });
  return row && { text: String(row.text), tag: String(row.tag) };
}
