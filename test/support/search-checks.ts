// Random queries against SQLite.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseQuery } from '../../src/search/query.ts';
import { anyCharacter } from './any-character.ts';
import { findIn, type Note, partsOf, queryFor, scan, type Term, UNBOUNDED } from './search.ts';

const SYNTAX = ['"', '*', '-', ' ', '\u3000', '^', ':', '(', ')', '{', '}', '+', ',', '\0', "'"];
const WORDS = [
  ...['AND', 'OR', 'NOT', 'NEAR', 'title', 'milk', 'mil', 'Straße', 'STRASSE', 'crème', 'creme'],
  ...'東京都 東京 京 雨 大雨 が か\u3099 か ｶﾞ スカイ ー 々 안녕 안'.split(' '),
  ...['ที่', 'ท', '่', 'हिन्दी', 'tiếng', 'đ', 'd'],
  ...['مُحَمَّد', 'محمد', 'ΟΔΟΣ', 'οδος', 'ёлка', 'елка'],
  ...'👍🏽 👍 👨‍👩‍👧 👩 🇯🇵 ㍿ 株 ½ 1 2 𠮷 𠮷野 \u0301 \u200d'.split(' '),
];
const GLUE = ['', '', ' ', '-', '、', '\n'];

const query = fc
  .array(
    fc.oneof(fc.constantFrom(...SYNTAX, ...WORDS), fc.string({ unit: anyCharacter, maxLength: 4 })),
    { maxLength: 40, size: 'max' },
  )
  .map((parts) => parts.join(''));

/** Random queries that are checked together. */
export const queries = fc.array(query, { minLength: 100, maxLength: 100 });

/** Checks that SQLite accepts the expressions of random queries. */
export async function checkMatches({ numRuns }: { numRuns: number }): Promise<void> {
  const notes: Note[] = [['milk 東京都', WORDS.join(' ')]];
  await fc.assert(
    fc.asyncProperty(queries, async (texts) => {
      const parsed = texts.map((text) => parseQuery(text, UNBOUNDED));
      const matches = parsed.flatMap((each) => ('match' in each ? [each.match] : []));
      await findIn(notes, matches);
    }),
    { numRuns: numRuns / 100 },
  );
}

export const textOf = (parts: number) =>
  fc
    .array(fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...GLUE)), {
      maxLength: parts,
      size: 'max',
    })
    .map((words) => words.flat().join(''));

/** A random title and body, which may be empty. */
export const note = fc.tuple(textOf(4), textOf(12));

export const aTerm: fc.Arbitrary<Term> = fc
  .record({
    text: textOf(4),
    isPhrase: fc.boolean(),
    isPrefix: fc.boolean(),
    isExcluded: fc.integer({ max: 3, min: 0 }).map((number) => number === 0),
  })
  .map((each) => (each.isPhrase ? each : { ...each, text: each.text.replace(/[\s-]/g, '') }));

/** Compares random queries with a plain scan, 50 in each run. */
export async function checkFinds({ numRuns }: { numRuns: number }): Promise<void> {
  const terms = fc.array(aTerm, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(note, { minLength: 20, maxLength: 20 }),
      fc.array(terms, { minLength: 50, maxLength: 50 }),
      compare,
    ),
    { numRuns },
  );
}

async function compare(notes: readonly Note[], queries: readonly Term[][]): Promise<void> {
  const valid = queries.filter((terms) =>
    terms.some(({ text, isExcluded }) => !isExcluded && partsOf(text).length > 0),
  );
  const parsed = valid.map((terms) => parseQuery(queryFor(terms), UNBOUNDED));
  const matches = parsed.map((each) => ('match' in each ? each.match : ''));
  const found = await findIn(notes, matches);
  for (const [index, terms] of valid.entries()) {
    assert.deepEqual(found[index], scan(notes, terms), queryFor(terms));
  }
}
