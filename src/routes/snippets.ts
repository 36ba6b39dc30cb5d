// The snippets of a page. The texts may be long, so that the search for matches is bounded and lets
// other requests run in between.
import { MAX_SNIPPET_LENGTH } from '../contract/generated.js';
import { Turns } from '../http/turns.ts';
import { JsonString } from '../search/json-string.ts';
import type { Query } from '../search/query.ts';
import { type Effort, type Snippet, snippetOf } from '../search/snippet.ts';

/** The limits of the snippets of a page; tests change them. */
export const SNIPPET_LIMITS = {
  /** See {@link snippetOf}. */
  effortUnits: 2_000_000,
  /** How long the search goes on before other requests may run. */
  sliceMs: 2,
};

/** The snippets of the records of one resource; `fields` are the names of its title and body. */
export class Snippets {
  readonly #fields: readonly string[];
  readonly #turns = new Turns();

  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /** Resolves with the end of each record. Calls `check`, which may throw, after each pause. */
  async endsOf(
    records: readonly (string | Buffer)[],
    query: Query,
    check: () => void,
  ): Promise<readonly string[]> {
    const ends: string[] = [];
    let units = SNIPPET_LIMITS.effortUnits;
    let pausedMs = performance.now();
    for (const [index, record] of records.entries()) {
      // What a record does not need is left to the next ones.
      const share = units / (records.length - index);
      const effort = { units: share };
      const search = this.#search(record, query, effort);
      let step = search.next();
      while (!step.done) {
        if (performance.now() > pausedMs + SNIPPET_LIMITS.sliceMs) {
          await this.#turns.next();
          check();
          pausedMs = performance.now();
        }
        step = search.next();
      }
      units -= share - effort.units;
      ends.push(`,"snippet":${JSON.stringify(step.value)}}`);
    }
    return ends;
  }

  #search(record: string | Buffer, query: Query, effort: Effort): Generator<undefined, Snippet> {
    const bytes = typeof record === 'string' ? Buffer.from(record) : record;
    // No string contains these bytes, because JSON escapes quotes.
    const stringOf = (name = '') => {
      const beginning = `"${name}":"`;
      return new JsonString(bytes, bytes.indexOf(beginning) + beginning.length);
    };
    const [title, body] = this.#fields;
    return snippetOf(stringOf(title), stringOf(body), query, MAX_SNIPPET_LENGTH, effort);
  }
}
