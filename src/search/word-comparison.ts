// Compares the words in a search index with those of the texts, for the command `check`. Each word
// adds to a sum of its record, by its text and its place: other words make another sum.
import { insertionInto, pagesOf, type Rows, rowsOn } from '../pages.ts';
import { columnsOf, type Relation } from '../resources/relation.ts';
import type { Source } from '../storage/database.ts';
import { type Searchable, searchedFieldsOf } from './steps.ts';
import { indexedText } from './words.ts';

const TERMS_ON_PAGE = 10_000;

/** Temporary tables: the words of the index, their places, a page of words, and the sums. */
const TERMS = 'temp.terms';
const PLACES = 'temp.places';
const HASHES = 'temp.hashes';
const SUMS = 'temp.sums';

/** A prime below 2^26: a product of two remainders is exact in JavaScript as well. */
const PRIME = 67_108_859;

/** More than any code unit, so that words of two never have the same hash. */
const HASH_FACTOR = 65_599;

/** Called with how much is done, from 0 to 1. */
export type OnShare = (share: number) => void;

/** The id of a record, and the words of each searched text. */
type Words = readonly [id: number, ...texts: string[]];

/** Returns the words of rows, each with all columns of `of`. */
export function wordsOf(resource: Searchable, rows: Rows, of: Relation): Words[] {
  const places = searchedFieldsOf(resource).map((name) => columnsOf(of).indexOf(name));
  const textOf = (row: Rows[number]) => places.map((place) => indexedText(String(row[place])));
  return rows.map((row) => [Number(row[0]), ...textOf(row)]);
}

/**
 * Resolves with ids of records that have other words in the index than in their texts, of those for
 * which `isContained` is true, in SQL with their `id`. All reads must be of one snapshot.
 */
export async function findDifferent(
  source: Source,
  resource: Searchable,
  isContained: string,
  maxRecords: number,
  onShare: OnShare,
): Promise<unknown[]> {
  const { table } = resource.search;
  for (const sql of [
    `CREATE VIRTUAL TABLE ${TERMS} USING fts5vocab(main, '${table}', 'row')`,
    `CREATE VIRTUAL TABLE ${PLACES} USING fts5vocab(main, '${table}', 'instance')`,
    `CREATE TABLE ${HASHES} (term TEXT PRIMARY KEY, hash INTEGER) WITHOUT ROWID`,
    `CREATE TABLE ${SUMS} (id INTEGER PRIMARY KEY, sum INTEGER, lengths TEXT)`,
    // A search by rank also needs the average lengths. This rejects if they are missing.
    `SELECT rank FROM (SELECT '"' || term || '"' AS word FROM ${TERMS} LIMIT 1), ${table}
     WHERE ${table} MATCH word LIMIT 1`,
  ])
    await source.read({ sql });
  const total = await addTexts(source, resource, isContained, (share) => onShare(share / 2));
  const subtraction = subtractionSql(resource, isContained);
  let done = 0;
  for await (const terms of termsIn(source)) {
    const hashes = terms.map(({ term }) => [term, hashOf(String(term))]);
    await source.read({ sql: `DELETE FROM ${HASHES}` });
    await source.read(insertionInto(HASHES, ['term', 'hash'], hashes));
    await source.read({ sql: subtraction });
    done += terms.reduce((sum, { count }) => sum + Number(count), 0);
    onShare((1 + Math.min(1, done / Math.max(1, total))) / 2);
  }
  const different = await source.read({
    sql: `SELECT id FROM ${SUMS} LEFT JOIN ${table}_docsize USING (id)
          WHERE sum % ${PRIME} <> 0 OR hex(sz) <> lengths ORDER BY id LIMIT ${maxRecords}`,
  });
  return different.map(({ id }) => id);
}

/** Adds the words of all texts; resolves with how many there are. */
async function addTexts(
  source: Source,
  resource: Searchable,
  isContained: string,
  onShare: OnShare,
): Promise<number> {
  const contained = `(SELECT * FROM ${resource.table} WHERE ${isContained})`;
  const relation = { ...resource, table: contained };
  const [row] = await source.read({ sql: `SELECT count(*) AS total FROM ${contained}` });
  let words = 0;
  let done = 0;
  for await (const page of pagesOf(source, relation)) {
    const records = wordsOf(resource, await rowsOn(source, relation, page), relation);
    const sums = records.map(([id, ...texts]) => {
      const parts = texts.map((text) => text.split(' ').slice(0, -1));
      words += parts.flat().length;
      return [id, sumOf(parts), parts.map(({ length }) => varintOf(length)).join('')];
    });
    await source.read(insertionInto(SUMS, ['id', 'sum', 'lengths'], sums));
    done += page.count;
    onShare(done / Number(row?.total));
  }
  return words;
}

/** Yields all words in the index, with how often each occurs. */
async function* termsIn({ read }: Source) {
  const sql = `
    SELECT term, cnt AS count FROM ${TERMS} WHERE term > ?1 ->> '$'
    ORDER BY term LIMIT ${TERMS_ON_PAGE}`;
  for (let last: unknown = ''; last !== undefined; ) {
    const terms = await read({ sql, parameter: JSON.stringify(last) });
    yield terms;
    last = terms.at(-1)?.term;
  }
}

/** Returns the SQL that subtracts the words of the index that are in {@link HASHES}. */
function subtractionSql(resource: Searchable, isContained: string): string {
  const columns = searchedFieldsOf(resource);
  const column = columns.map((name, index) => `WHEN '${name}' THEN ${index}`).join(' ');
  const place = `1 + "offset" * ${columns.length} + CASE col ${column} END`;
  return `
    INSERT INTO ${SUMS} (id, sum)
    SELECT id, -sum(hash * (place * place % ${PRIME}) % ${PRIME})
    FROM (SELECT doc AS id, hash, ${place} AS place
          FROM ${PLACES} AS stored CROSS JOIN ${HASHES} USING (term)
          WHERE stored.term BETWEEN (SELECT min(term) FROM ${HASHES})
            AND (SELECT max(term) FROM ${HASHES}))
    WHERE ${isContained} GROUP BY id
    ON CONFLICT (id) DO UPDATE SET sum = sum + excluded.sum`;
}

/** Returns the sum of the words of each text of a record, as {@link subtractionSql} has it. */
function sumOf(texts: readonly (readonly string[])[]): number {
  let sum = 0;
  for (const [column, words] of texts.entries())
    for (const [offset, word] of words.entries()) {
      const place = 1 + offset * texts.length + column;
      sum = (sum + hashOf(word) * ((place * place) % PRIME)) % PRIME;
    }
  return sum;
}

function hashOf(word: string): number {
  let hash = 0;
  for (let index = 0; index < word.length; index += 1)
    hash = (hash * HASH_FACTOR + word.charCodeAt(index)) % PRIME;
  return hash;
}

/** Returns a length as FTS5 stores it, in hexadecimal digits. */
function varintOf(length: number): string {
  const bytes = [length & 0x7f];
  for (let rest = length >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return Buffer.from(bytes).toString('hex').toUpperCase();
}
