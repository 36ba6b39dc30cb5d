// The search index of a few texts in SQLite, and a plain scan over the same texts that finds what
// the index should. The scan normalises whole texts and shares no code with src/search.
import sqlite3 from 'sqlite3';
import { indexedText } from '../../src/search/words.ts';
import { STEPS } from '../../src/storage/schema/steps.ts';

/** A title and a body. */
export type Note = readonly [title: string, body: string];

const [CREATE = ''] = /CREATE VIRTUAL TABLE[^;]*/.exec(STEPS.join()) ?? [];

/** Returns the positions of the notes that each expression of FTS5 matches. */
export async function findIn(
  notes: readonly Note[],
  matches: readonly string[],
): Promise<number[][]> {
  const database = new sqlite3.Database(':memory:');
  const all = (sql: string, values: readonly unknown[] = []) =>
    new Promise<{ found: string }[]>((resolve, reject) => {
      database.all<{ found: string }>(sql, values, (error, rows) =>
        error ? reject(error) : resolve(rows),
      );
    });
  try {
    await all(CREATE);
    const insert = `INSERT INTO note_words (rowid, title, body)
      SELECT key, value ->> 0, value ->> 1 FROM json_each(?1)`;
    await all(insert, [JSON.stringify(notes.map((texts) => texts.map(indexedText)))]);
    const find = 'SELECT json_group_array(rowid) FROM note_words WHERE note_words MATCH value';
    const found = await all(`SELECT (${find}) AS found FROM json_each(?1) ORDER BY key`, [
      JSON.stringify(matches),
    ]);
    return found.map((row) => JSON.parse(row.found));
  } finally {
    database.close();
  }
}

/** Bounds for tests of queries that the service would refuse. */
export const UNBOUNDED = {
  words: Number.POSITIVE_INFINITY,
  terms: Number.POSITIVE_INFINITY,
  prefixes: Number.POSITIVE_INFINITY,
};

/** A word or phrase of a query. */
export interface Term {
  readonly text: string;
  readonly isPhrase: boolean;
  readonly isPrefix: boolean;
  readonly isExcluded: boolean;
}

/** Returns the query that asks for the terms. */
export function queryFor(terms: readonly Term[]): string {
  const words = terms.map(({ text, isPhrase, isPrefix, isExcluded }) => {
    const word = isPhrase ? `"${text}"` : text;
    return `${isExcluded ? '-' : ''}${word}${isPrefix ? '*' : ''}`;
  });
  return words.join(' \u3000');
}

const SCRIPTS = ['Han', 'Hira', 'Kana', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr'];
const RUN = `(?:(?=[\\p{L}\\p{N}\\p{M}])[${SCRIPTS.map((name) => `\\p{scx=${name}}`).join('')}])+`;
const PARTS = new RegExp(`${RUN}|(?:(?!${RUN})[\\p{L}\\p{N}\\p{M}])+|\\p{ExtPict}|\\p{RI}`, 'gu');
const IS_RUN = new RegExp(`^${RUN}$`, 'u');
const ACCENTS =
  /(?![\u3099\u309a])(?=\p{M})[\p{sc=Zinh}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Arab}\p{sc=Hebr}]/gu;
const INVISIBLE = /\p{Emoji_Modifier}|[\u00ad\u0640\u200b-\u200f\u2060]/gu;

/** Returns the words of a text; a run of a script without spaces is one of them. */
export function partsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(ACCENTS, '').replace(INVISIBLE, '');
  const same = plain.replaceAll('ß', 'ss').toLowerCase().replaceAll('ς', 'σ').replaceAll('đ', 'd');
  return same.normalize('NFC').match(PARTS) ?? [];
}

function occurs({ text, isPrefix }: Term, parts: readonly string[]): boolean {
  const wanted = partsOf(text);
  const last = wanted.length - 1;
  const isMatch = (part: string, index: number, at: number) => {
    const other = parts[at + index] ?? '';
    if (!IS_RUN.test(part)) {
      return index === last && isPrefix ? other.startsWith(part) : other === part;
    }
    if (!IS_RUN.test(other)) return false;
    if (index === 0) return last === 0 ? other.includes(part) : other.endsWith(part);
    return index === last ? other.startsWith(part) : other === part;
  };
  return parts.some((_, at) => wanted.every((part, index) => isMatch(part, index, at)));
}

/** Returns the numbers of the notes with all terms, except those that are excluded. */
export function scan(notes: readonly Note[], terms: readonly Term[]): number[] {
  const numbers: number[] = [];
  const words = terms.filter(({ text }) => partsOf(text).length > 0);
  for (const [number, texts] of notes.entries()) {
    const fields = texts.map(partsOf);
    const isFound = (term: Term) => fields.some((parts) => occurs(term, parts));
    if (words.every((term) => isFound(term) !== term.isExcluded)) numbers.push(number);
  }
  return numbers;
}
