// Compares a search index with the texts of the records. FTS5 cannot tell the words of one record,
// so this compares the numbers of the words of each record, and checksums over all words.
import { type Searchable, textFieldsOf } from '../resources/resource.ts';
import { indexedText } from '../search/words.ts';
import { CHANGES } from '../storage/changes/numbers.ts';
import type { Source } from '../storage/database.ts';
import { isOfTextsSql, stateOf, stateSql } from '../storage/index/steps.ts';
import { isOnPage, MAX_ID, nextPage } from './walk.ts';

/** How many different words are read at a time. */
const WORDS_PER_PAGE = 20_000;

/** The factors of an occurrence of a word in a checksum. */
const [ID_FACTOR, HIGH_FACTOR, COLUMN_FACTOR, OFFSET_FACTOR] = [7_919, 104_729, 15_485_863, 40_503];
const ID_BITS = 24;

/**
 * Resolves with a line for each fault, at most `maxFaults`. Leaves out records that the index need
 * not contain yet. All reads must be of one snapshot.
 */
export async function findWordFaults(
  source: Source,
  resource: Searchable,
  maxFaults: number,
): Promise<string[]> {
  const { table, search } = resource;
  const [row] = await source.read({ sql: stateSql(resource) });
  if (!row) return [`${search.position}: there is no position`];
  const { number, id, reaches } = stateOf(row);
  // The service will index all records again.
  if (!reaches) return [];
  const isContained = (column: string) =>
    `${column} <= ${id ?? MAX_ID} AND ${column} NOT IN (
       SELECT id FROM ${CHANGES} WHERE number > ${number} AND ${isOfTextsSql(resource)})`;
  const found = await source.read({
    sql: `
      SELECT format('${search.table}: contains record %d, which is not in ${table}', id) AS line
      FROM ${search.table}_docsize
      WHERE id NOT IN (SELECT id FROM ${table}) AND ${isContained('id')} LIMIT ${maxFaults}`,
  });
  const lines = found.map(({ line }) => String(line));
  const texts = await compareTexts(source, resource, isContained('id'), maxFaults);
  lines.push(...texts.lines);
  if (
    lines.length === 0 &&
    (await checksumOf(source, resource, isContained('doc'))) !== texts.checksum
  )
    lines.push(`${search.table}: the words of some records are not those of their texts`);
  return lines.slice(0, maxFaults);
}

/** Compares the numbers of words; resolves with faults, and with the checksum of the words. */
async function compareTexts(
  source: Source,
  resource: Searchable,
  isContained: string,
  maxFaults: number,
): Promise<{ lines: string[]; checksum: number }> {
  const { table, search } = resource;
  const sizes = `${search.table}_docsize`;
  const lines: string[] = [];
  let checksum = 0;
  let after = 0;
  while (after < MAX_ID && lines.length < maxFaults) {
    const { last } = await nextPage(source, resource, after);
    const records = await source.read({
      sql: `
        SELECT stored.*, hex(sz) AS size
        FROM (SELECT id, ${textFieldsOf(resource).join(', ')} FROM ${table}
              WHERE ${isOnPage(resource)} AND ${isContained}) AS stored
        LEFT JOIN ${sizes} ON ${sizes}.id = stored.id`,
      parameter: JSON.stringify([after, last]),
    });
    for (const { id, size, ...texts } of records) {
      const words = Object.values(texts).map((text) => split(indexedText(String(text))));
      const record = `${search.table}: record ${id}`;
      if (size === '') lines.push(`${record} is missing`);
      else if (size !== sizeOf(words)) lines.push(`${record} has other words than its texts`);
      checksum = (checksum + checksumOfRecord(Number(id), words)) >>> 0;
    }
    after = last;
  }
  return { lines, checksum };
}

function split(text: string): readonly string[] {
  return text.match(/[^ ]+/g) ?? [];
}

/** Returns the numbers of words as FTS5 stores them: variable-length integers, here in hex. */
function sizeOf(words: readonly (readonly string[])[]): string {
  return words
    .map(({ length }) => {
      const bytes = [length & 0x7f];
      for (let rest = length >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
      return Buffer.from(bytes).toString('hex').toUpperCase();
    })
    .join('');
}

/** Returns the part of one record in the checksum. */
function checksumOfRecord(id: number, words: readonly (readonly string[])[]): number {
  const low = (id % 2 ** ID_BITS) * ID_FACTOR;
  const base = low + Math.floor(id / 2 ** ID_BITS) * HIGH_FACTOR;
  let sum = 0;
  words.forEach((list, column) => {
    list.forEach((word, offset) => {
      const place = (base + column * COLUMN_FACTOR + offset * OFFSET_FACTOR) & 0x3fffffff;
      sum = (sum + Math.imul(hashOf(word), Math.imul(place, place))) | 0;
    });
  });
  return sum;
}

function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index += 1)
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  return hash;
}

/** Resolves with the checksum of the words in the index. */
async function checksumOf(
  source: Source,
  resource: Searchable,
  isContained: string,
): Promise<number> {
  const columns = textFieldsOf(resource);
  const column = columns.map((name, index) => `WHEN '${name}' THEN ${index * COLUMN_FACTOR}`);
  const mask = 2 ** ID_BITS - 1;
  const place = `
    (((doc & ${mask}) * ${ID_FACTOR} + (doc >> ${ID_BITS}) * ${HIGH_FACTOR}
      + CASE col ${column.join(' ')} END + "offset" * ${OFFSET_FACTOR}) & 0x3fffffff)`;
  const words = 'temp.words_in_index';
  await source.read({
    sql: `CREATE VIRTUAL TABLE IF NOT EXISTS ${words}
          USING fts5vocab(main, '${resource.search.table}', 'instance')`,
  });
  let checksum = 0;
  let after = '';
  for (;;) {
    const rows = await source.read({
      sql: `
        SELECT term, sum((${place} * ${place}) & 0xffffffff) & 0xffffffff AS places FROM ${words}
        WHERE term > (?1 ->> '$') AND ${isContained} GROUP BY term LIMIT ${WORDS_PER_PAGE}`,
      parameter: JSON.stringify(after),
    });
    for (const { term, places } of rows)
      checksum = (checksum + Math.imul(hashOf(String(term)), Number(places))) >>> 0;
    if (rows.length < WORDS_PER_PAGE) return checksum;
    after = String(rows.at(-1)?.term);
  }
}
