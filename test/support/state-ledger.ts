// A ledger of the states that records have had, by their paths. It knows which of them an answer
// may still show.
import assert from 'node:assert/strict';

/** What an answer shows of a record; undefined if the record does not exist. */
export type State = string | undefined;

/** The states by the paths of their records. */
export type States = ReadonlyMap<string, State>;

/** What becomes of a write. If neither is called, it is in doubt. */
export interface Entered {
  readonly acknowledge: () => void;
  /** The write has changed nothing. */
  readonly refuse: () => void;
}

const LATEST = 24;

interface History {
  readonly path: string;
  /** In their order, beginning with that before the record was created. */
  readonly states: State[];
  /** When states became known, by acknowledgements and answers; the last one is the latest. */
  readonly known: { readonly position: number; readonly time: number }[];
}

/** The states of records, each of which has one writer. */
export class StateLedger {
  readonly #histories = new Map<string, History>();
  readonly #creating = new Set<State>();
  /** How often a state became known. */
  #time = 0;
  readonly #present = new Set<string>();
  /** The paths that were touched last. */
  readonly latest: string[] = [];

  /** The paths of the records that may exist. */
  get present(): Iterable<string> {
    return this.#present;
  }

  /** The time, which the check of an answer needs to know of its request. */
  get time(): number {
    return this.#time;
  }

  /** Enters the states that a write is about to cause. */
  enter(states: States): Entered {
    const histories = [...states.keys()].map((path) => this.#historyOf(path));
    for (const { path, states: known } of histories) {
      known.push(states.get(path));
      this.#present.add(path);
    }
    return {
      acknowledge: () => {
        for (const history of histories) this.#learn(history, history.states.length - 1);
      },
      refuse: () => {
        for (const history of histories) {
          const state = history.states.pop();
          assert.ok(positionOf(history) < history.states.length, `${state} was refused, but seen`);
        }
      },
    };
  }

  /** Enters a record that is about to be created at a path that is not yet known. */
  create(state: State): (path: string) => void {
    this.#creating.add(state);
    return (path) => {
      this.enter(new Map([[path, state]])).acknowledge();
      this.#creating.delete(state);
    };
  }

  /** Makes a path one of the latest. */
  touch(path: string): void {
    this.latest.push(path);
    if (this.latest.length > LATEST) this.latest.shift();
  }

  /** Asserts that an answer shows nothing older than what was known when its request was sent. */
  check(shown: States, time: number, request: string): void {
    for (const [path, state] of shown) {
      const history = this.#histories.get(path);
      if (!history && (state === undefined || this.#creating.has(state))) continue;
      const states = history?.states ?? [];
      const start = history ? positionOf(history, time) : 0;
      const position = states.indexOf(state, start);
      assert.ok(
        history && position >= 0,
        `${request} shows ${path} as ${brief(state)}, number ${states.lastIndexOf(state)}, after ` +
          `${brief(states[start])}, number ${start}, had become known`,
      );
      // Whoever asks from now on must not see an older state.
      this.#learn(history, position);
    }
  }

  #learn(history: History, position: number): void {
    if (position <= positionOf(history)) return;
    this.#time += 1;
    history.known.push({ position, time: this.#time });
    const { path, states } = history;
    const isGone = position === states.length - 1 && states[position] === undefined;
    if (isGone) this.#present.delete(path);
  }

  #historyOf(path: string): History {
    const found = this.#histories.get(path);
    if (found) return found;
    const history = { path, states: [undefined], known: [] };
    this.#histories.set(path, history);
    return history;
  }
}

/** Returns the position of the latest state that was known at `time`. */
function positionOf({ known }: History, time = Number.POSITIVE_INFINITY): number {
  return known.findLast((each) => each.time <= time)?.position ?? 0;
}

function brief(state: State): string {
  return state === undefined ? 'missing' : `"${state.slice(0, 20)}"`;
}
