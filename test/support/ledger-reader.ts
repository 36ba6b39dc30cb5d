// A client that reads records and pages, and checks each answer against a ledger.
import assert from 'node:assert/strict';
import type { Agent } from 'node:http';
import { type Answer, send } from './http.ts';
import { between, brokenConnection, oneIn } from './ledger.ts';
import type { State, StateLedger, States } from './state-ledger.ts';

/** The state of a note that has a tag. */
export const LINKED = 'linked';

/** The note that has so many comments, after the other notes with fixed ids. */
export const BIG_NOTE = 6;
export const BIG_COMMENTS = 100;

/** Returns the title of a note with this body. */
export const titleOf = (body: string) => body.slice(0, 20);

/** What to request, and what a body shows of which records; undefined for a 404. */
interface Target {
  readonly path: string;
  readonly shown: (json: Answer['json']) => States;
}

interface Item {
  readonly id: number;
  readonly title?: string;
  readonly body: string;
}

/** Reads until it is stopped. */
export class LedgerReader {
  readonly #url: string;
  readonly #ledger: StateLedger;
  readonly #agent: Agent;
  readonly #fixed: readonly string[];
  #target: Target | undefined;
  readonly #known = new Map<string, Pick<Answer, 'json'> & { tag: string }>();
  /** How many answers it has checked, and how many of them were 304. */
  readonly counts = { reads: 0, notModified: 0 };

  /** Reads the records `fixed` and the latest ones of the ledger, and pages. */
  constructor(url: string, ledger: StateLedger, agent: Agent, fixed: readonly string[]) {
    this.#url = url;
    this.#ledger = ledger;
    this.#agent = agent;
    this.#fixed = fixed;
  }

  /** Sends one request and checks its answer. A broken connection counts as no answer. */
  async read(): Promise<void> {
    // Often the same as before, which may be in memory now.
    const last = oneIn(3) ? undefined : this.#target;
    const target = last ?? (oneIn(3) ? this.#page() : this.#record());
    this.#target = target;
    const { path } = target;
    const known = oneIn(2) ? this.#known.get(path) : undefined;
    const headers = known ? { 'if-none-match': known.tag } : {};
    const { time } = this.#ledger;
    const answer = await send(this.#url, 'GET', path, { agent: this.#agent, headers }).catch(
      (error) => assert.ok(brokenConnection(error), error as Error),
    );
    if (!answer) return;
    const { status, json } = answer;
    assert.ok([200, 404].includes(status) || (status === 304 && known), `${path}: ${status}`);
    const body = status === 304 ? known?.json : json;
    const shown = target.shown(status === 404 ? undefined : body);
    this.#ledger.check(shown, time, `${known ? 'a conditional ' : ''}GET ${path} (${status})`);
    if (status === 200) this.#known.set(path, { json, tag: String(answer.headers.etag) });
    this.counts.reads += 1;
    this.counts.notModified += Number(status === 304);
  }

  #record(): Target {
    const { latest } = this.#ledger;
    const paths = oneIn(2) && latest.length > 0 ? latest : this.#fixed;
    // A comment is not found under another note.
    const stray = `/notes/${between(1, BIG_NOTE)}/comments/${between(1, BIG_NOTE)}`;
    const path = oneIn(10) ? stray : (paths[between(0, paths.length - 1)] ?? '');
    return { path, shown: (item) => new Map([[path, item && stateOf(item)]]) };
  }

  #page(): Target {
    const note = `/notes/${between(1, BIG_NOTE)}`;
    const targets: readonly Target[] = [
      ...['', 'order=-updated&', 'order=-id&include=times&', 'order=updated&before=9999999&'].map(
        (query) => this.#list(`/notes?${query}limit=100`, stateOfItem, { all: /^\/notes\/\d+$/ }),
      ),
      this.#list('/notes?limit=3', stateOfItem),
      this.#list(
        `${note}/comments?limit=${BIG_COMMENTS}`,
        ({ id, body }) => [`${note}/comments/${id}`, body],
        { owner: note },
      ),
      this.#list('/tags/1/notes?limit=100', ({ id }) => [`/notes/${id}/tags/1`, LINKED], {
        all: /\/tags\/1$/,
      }),
      this.#list('/tags/1/notes?limit=100&order=-updated', stateOfItem),
    ];
    return targets[between(0, targets.length - 1)] as Target;
  }

  /** A list that contains all records whose paths match `all`, or those of the record `owner`. */
  #list(
    path: string,
    itemState: (item: Item) => readonly [path: string, state: State],
    { all, owner }: { readonly all?: RegExp; readonly owner?: string } = {},
  ): Target {
    return {
      path,
      shown: (json) => {
        if (!json) return new Map([[owner ?? path, undefined]]);
        const { items, total } = json;
        const shown = new Map<string, State>();
        if (all) {
          assert.equal(items.length, total);
          for (const each of this.#ledger.present) if (all.test(each)) shown.set(each, undefined);
        }
        for (const item of items) shown.set(...itemState(item));
        return shown;
      },
    };
  }
}

function stateOfItem(item: Item): readonly [string, State] {
  return [`/notes/${item.id}`, stateOf(item)];
}

function stateOf({ title, body }: Item): State {
  return title === undefined || title === titleOf(body) ? body : `half ${title}, half ${body}`;
}
