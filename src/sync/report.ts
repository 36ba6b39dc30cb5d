// What people see of runs: a line for each effect, what was left and why, and a summary.
import { SYNC_TIMES } from './effects.ts';

/** Where lines go: the output, what a person must know, and a terminal if there is one. */
export interface Output {
  readonly say: (line: string) => void;
  readonly warn: (line: string) => void;
  readonly show: (text: string) => void;
}

/** How the summary calls what was done. */
const DONE: Readonly<Record<string, string>> = {
  ...{ create: 'created', send: 'sent', get: 'got', 'move here': 'moved', 'move there': 'moved' },
  ...{ 'delete here': 'deleted here', 'delete there': 'deleted there', conflict: 'in conflict' },
};

const CLEAR_LINE = '\r\u001b[K';

/** The report of one run after another. */
export class Report {
  readonly #output: Output;
  #startMs = 0;
  #total = 0;
  #done: string[] = [];
  #left = new Map<string, string>();
  #leftBefore = new Map<string, string>();

  constructor(output: Output) {
    this.#output = output;
  }

  begin(): void {
    this.#startMs = performance.now();
    this.#done = [];
    [this.#leftBefore, this.#left] = [this.#left, new Map()];
  }

  get hasLeft(): boolean {
    return this.#left.size > 0;
  }

  /** Says how much there is to do. */
  expect(total: number): void {
    this.#total = total;
  }

  done(action: string, path: string): void {
    const done = DONE[action];
    if (done === undefined) return;
    this.#done.push(done);
    this.say(`${action.replace(/^move.*/, 'move')} ${path}`);
    if (performance.now() > this.#startMs + SYNC_TIMES.progress)
      this.#output.show(`${CLEAR_LINE}${this.#done.length} of ${this.#total}`);
  }

  say(line: string): void {
    if (this.#done.length > 1) this.#output.show(CLEAR_LINE);
    this.#output.say(line);
  }

  /** Tells what a person must know. */
  tell(line: string): void {
    this.#output.warn(line);
  }

  /** Tells what is left, once as long as the reason is the same. */
  left(path: string, why: string): void {
    this.#left.set(path, why);
    if (this.#leftBefore.get(path) !== why) this.#output.warn(`left ${path}: ${why}`);
  }

  /** Says what was done, if there was anything. */
  end(files: number): void {
    if (this.#done.length === 0) return;
    const ms = Math.round(performance.now() - this.#startMs);
    const counts = [...new Set(Object.values(DONE))].flatMap((done) => {
      const count = this.#done.filter((each) => each === done).length;
      return count > 0 ? [`${count} ${done}`] : [];
    });
    this.say(`In step: ${files} files (${counts.join(', ')}; ${ms} ms)`);
  }
}
