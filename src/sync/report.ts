// What people see of runs: a line for each effect, what was left and why, and a summary.
import { SYNC_TIMES } from './effects.ts';

/** Where lines go: the output, what a person must know, and a terminal if there is one. */
export interface Output {
  readonly say: (line: string) => void;
  readonly warn: (line: string) => void;
  readonly show: (text: string) => void;
}

export type Report = ReturnType<typeof createReport>;

/** How the summary calls what was done. */
const DONE: Readonly<Record<string, string>> = {
  ...{ create: 'created', send: 'sent', get: 'got', 'move here': 'moved', 'move there': 'moved' },
  ...{ 'delete here': 'deleted here', 'delete there': 'deleted there', conflict: 'in conflict' },
};

const CLEAR_LINE = '\r\u001b[K';

const lineFor = (action: string, path: string) => `${action.replace(/^move.*/, 'move')} ${path}`;

/** Returns the report of one run after another. */
export function createReport({ say: print, warn, show }: Output) {
  let startMs = 0;
  let total = 0;
  let done: string[] = [];
  let hasLeft = false;
  let told = new Set<string>();
  let toldBefore = told;
  const isLong = () => performance.now() > startMs + SYNC_TIMES.progress;
  const say = (line: string) => {
    if (isLong()) show(CLEAR_LINE);
    print(line);
  };
  /** Tells what is so in each run only in the first one of them. */
  const tellOnce = (tell: (line: string) => void, line: string) => {
    told.add(line);
    if (!toldBefore.has(line)) tell(line);
  };
  return {
    warn,
    begin() {
      startMs = performance.now();
      done = [];
      hasLeft = false;
      [toldBefore, told] = [told, new Set()];
    },
    hasLeft: () => hasLeft,
    hasDone: () => done.length > 0,
    /** Says how much there is to do. */
    expect(count: number) {
      total = count;
    },
    done(action: string, path: string) {
      const what = DONE[action];
      if (what === undefined) return;
      done.push(what);
      say(lineFor(action, path));
      if (isLong()) show(`${CLEAR_LINE}${done.length} of ${total}`);
    },
    /** Says what this run must not do, with `how` that is: it `waits:`, or it `would` be done. */
    undone(how: string, action: string, path: string) {
      if (DONE[action] !== undefined) tellOnce(say, `${how} ${lineFor(action, path)}`);
    },
    left(path: string, why: string) {
      hasLeft = true;
      tellOnce(warn, `left ${path}: ${why}`);
    },
    /** Says what was done, if there was anything. */
    end(files: number) {
      if (done.length === 0) return;
      const kinds = [...new Set(Object.values(DONE))].filter((what) => done.includes(what));
      const texts = kinds.map((what) => `${done.filter((each) => each === what).length} ${what}`);
      const ms = Math.round(performance.now() - startMs);
      say(`In step: ${files} ${files === 1 ? 'file' : 'files'} (${texts.join(', ')}; ${ms} ms)`);
    },
  };
}
