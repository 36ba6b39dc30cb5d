// Compares the words in a search index with those of the texts, for the command `check`.
import { insertionInto, pagesOf, type Rows, rowsOn } from '../pages.ts';
import { columnsOf, type Relation } from '../resources/relation.ts';
import type { Row, Source } from '../storage/database.ts';
import { type Searchable, searchedFieldsOf } from './steps.ts';
import { WordSums, wordsIn } from './word-sums.ts';
import { indexedText } from './words.ts';

const TERMS_ON_PAGE = 10_000;

/** If the words of more buckets differ, not all of their records may be found. */
const MAX_BUCKETS = 1_000;

/** Temporary tables: the words of the index, and the places of words that differ. */
const TERMS = 'temp.terms';
const PLACES = 'temp.places';

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

/** Compares the words of the records for which `isContained` is true, in SQL with their `id`. */
export class WordComparison {
  readonly #read: Source['read'];
  readonly #resource: Searchable;
  readonly #isContained: string;
  readonly #sums: WordSums;

  /** All reads must be of one snapshot. */
  constructor({ read }: Source, resource: Searchable, isContained: string) {
    this.#read = read;
    this.#resource = resource;
    this.#isContained = isContained;
    this.#sums = new WordSums(searchedFieldsOf(resource));
  }

  /** Resolves with ids of records that have other words in the index than in their texts. */
  async findDifferent(maxRecords: number, onShare: OnShare): Promise<unknown[]> {
    const { table } = this.#resource.search;
    await this.#read({
      sql: `CREATE VIRTUAL TABLE ${TERMS} USING fts5vocab(main, '${table}', 'instance')`,
    });
    // A search by rank also needs the average lengths. This rejects if they are missing.
    await this.#read({
      sql: `SELECT rank FROM (SELECT '"' || term || '"' AS word FROM ${TERMS} LIMIT 1), ${table}
            WHERE ${table} MATCH word LIMIT 1`,
    });
    const found = new Set<unknown>();
    for await (const { records, share } of this.#texts()) {
      for (const { id } of await this.#addTexts(records)) found.add(id);
      if (found.size >= maxRecords) return [...found].slice(0, maxRecords);
      onShare(share / 2);
    }
    for await (const { terms, share } of this.#terms()) {
      for (const { term, sum } of terms) this.#sums.subtract(String(term), Number(sum));
      onShare((1 + share) / 2);
    }
    const buckets = this.#sums.differences(MAX_BUCKETS);
    const others = buckets.size > 0 ? await this.#findPlaces(buckets, maxRecords) : [];
    for (const { id } of others) found.add(id);
    return [...found].slice(0, maxRecords);
  }

  /** Yields the words of all records, and the share of the records that are done. */
  async *#texts() {
    const source = { read: this.#read };
    const { table } = this.#resource;
    const contained = `(SELECT * FROM ${table} WHERE ${this.#isContained})`;
    const relation = { ...this.#resource, table: contained };
    const [row] = await this.#read({ sql: `SELECT count(*) AS total FROM ${contained}` });
    let done = 0;
    for await (const page of pagesOf(source, relation)) {
      const rows = await rowsOn(source, relation, page);
      done += page.count;
      yield { records: wordsOf(this.#resource, rows, relation), share: done / Number(row?.total) };
    }
  }

  /** Adds words; resolves with the ids of records that have another number of them in the index. */
  #addTexts(records: readonly Words[]) {
    const lengths = records.map(([id, ...texts]) => {
      const counts = texts.map((text, column) => this.#sums.add(id, column, text));
      return [id, counts.map(varintOf).join('')];
    });
    return this.#read({
      sql: `SELECT stored.id FROM json_each(?1) AS sent
            JOIN ${this.#resource.search.table}_docsize AS stored ON stored.id = sent.value ->> 0
            WHERE hex(sz) <> sent.value ->> 1`,
      parameter: JSON.stringify(lengths),
    });
  }

  /** Yields all words in the index, the sums of their places, and the share that is done. */
  async *#terms() {
    const sql = `
      SELECT term, count(*) AS count, ${this.#sums.sql} AS sum
      FROM (SELECT term, doc AS id, col, "offset" FROM ${TERMS} WHERE term > ?1 ->> '$')
      WHERE ${this.#isContained} GROUP BY term LIMIT ${TERMS_ON_PAGE}`;
    let done = 0;
    for (let last: unknown = ''; last !== undefined; ) {
      const terms = await this.#read({ sql, parameter: JSON.stringify(last) });
      last = terms.at(-1)?.term;
      done += terms.reduce((sum, { count }) => sum + Number(count), 0);
      yield { terms, share: Math.min(1, done / Math.max(1, this.#sums.words)) };
    }
  }

  /** Compares place by place the words in buckets with differences. */
  async #findPlaces(buckets: ReadonlySet<number>, maxRecords: number): Promise<readonly Row[]> {
    const columns = searchedFieldsOf(this.#resource);
    await this.#read({ sql: `CREATE TABLE ${PLACES} (id, col, "offset", term, difference)` });
    for await (const { records } of this.#texts()) {
      const places = records.flatMap(([id, ...texts]) =>
        texts.flatMap((text, column) =>
          [...placesOf(text, buckets)].map((place) => [id, columns[column], ...place, 1]),
        ),
      );
      await this.#read(
        insertionInto(PLACES, ['id', 'col', '"offset"', 'term', 'difference'], places),
      );
    }
    for await (const { terms } of this.#terms()) {
      const names = terms.map(({ term }) => String(term));
      const wanted = names.filter((term) => !placesOf(`${term} `, buckets).next().done);
      await this.#read({
        sql: `INSERT INTO ${PLACES}
              SELECT id, col, "offset", term, -1
              FROM (SELECT term, doc AS id, col, "offset" FROM ${TERMS}
                    WHERE term IN (SELECT value FROM json_each(?1)))
              WHERE ${this.#isContained}`,
        parameter: JSON.stringify(wanted),
      });
    }
    return this.#read({
      sql: `SELECT DISTINCT id
            FROM (SELECT id FROM ${PLACES} GROUP BY term, id, col, "offset"
                  HAVING sum(difference) <> 0)
            LIMIT ${maxRecords}`,
    });
  }
}

/** Yields the places of those words of a text that are in one of the buckets, and the words. */
function* placesOf(text: string, buckets: ReadonlySet<number>) {
  for (const { bucket, place, start, end } of wordsIn(text))
    if (buckets.has(bucket)) yield [place, text.slice(start, end)] as const;
}

/** Returns a length as FTS5 stores it, in hexadecimal digits. */
function varintOf(length: number): string {
  const bytes = [length & 0x7f];
  for (let rest = length >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return Buffer.from(bytes).toString('hex').toUpperCase();
}
