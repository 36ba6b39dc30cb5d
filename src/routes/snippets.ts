// The snippets of a page. The texts may be long, so that the search for matches is bounded and lets
// other requests run in between.
import { MAX_SNIPPET_LENGTH } from '../contract/generated.js';
import { Turns } from '../http/turns.ts';
import { JsonString } from '../search/json-string.ts';
import type { Query } from '../search/query.ts';
import { type Effort, type Snippet, snippetOf } from '../search/snippet.ts';

/** The limits of the snippets of a page; tests change them. */
export const SNIPPET_LIMITS = {
  /** How much of the texts is searched for matches; see {@link snippetOf}. */
  effortUnits: 4_000_000,
  /** How long the search goes on before other requests may run. */
  sliceMs: 3,
};

const LINE_FEED = 0x0a;

/** Adds snippets to the records of one resource. */
export class Snippets {
  readonly #fields: readonly string[];
  readonly #turns = new Turns();

  /** `fields` are the names of the title and the body. */
  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /**
   * Adds a snippet to each record of a page, which has a line for each; resolves with the records,
   * separated by commas, in parts if the page is bytes. Calls `check` after each pause, and rejects
   * if that throws.
   */
  async add(page: string | Buffer, query: Query, check: () => void): Promise<string | Buffer[]> {
    if (typeof page === 'string') {
      const lines = page === '' ? [] : page.split('\n');
      const members = await this.#membersOf(lines, query, check);
      return lines.map((line, index) => line.slice(0, -1) + members[index]).join(',');
    }
    const lines = linesOf(page);
    const members = await this.#membersOf(lines, query, check);
    return lines.flatMap((line, index) => [
      line.subarray(0, -1),
      Buffer.from(`${members[index]}${index < lines.length - 1 ? ',' : ''}`),
    ]);
  }

  /** Resolves with the ends of the records that have a snippet. */
  async #membersOf(
    lines: readonly (string | Buffer)[],
    query: Query,
    check: () => void,
  ): Promise<readonly string[]> {
    const members: string[] = [];
    let units = SNIPPET_LIMITS.effortUnits;
    let pausedMs = performance.now();
    for (const [index, line] of lines.entries()) {
      // What a record does not need is left to the next ones.
      const share = units / (lines.length - index);
      const effort = { units: share };
      const search = this.#search(bytesOf(line), query, effort);
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
      members.push(`,"snippet":${JSON.stringify(step.value)}}`);
    }
    return members;
  }

  #search(line: Buffer, query: Query, effort: Effort): Generator<undefined, Snippet> {
    // No string contains these bytes, because JSON escapes quotes.
    const stringOf = (name = '') => {
      const beginning = `"${name}":"`;
      return new JsonString(line, line.indexOf(beginning) + beginning.length);
    };
    const [title, body] = this.#fields;
    return snippetOf(stringOf(title), stringOf(body), query, MAX_SNIPPET_LENGTH, effort);
  }
}

/** Returns the lines of a page, which share its memory. */
function linesOf(page: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < page.length; ) {
    const found = page.indexOf(LINE_FEED, start);
    const end = found === -1 ? page.length : found;
    lines.push(page.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

function bytesOf(line: string | Buffer): Buffer {
  return typeof line === 'string' ? Buffer.from(line) : line;
}
