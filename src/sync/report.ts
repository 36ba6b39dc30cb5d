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

/** Returns the report of one run after another. */
export function createReport({ say: print, warn, show }: Output) {
  let startMs = 0;
  let total = 0;
  let done: string[] = [];
  let leftNow = new Map<string, string>();
  let leftBefore = leftNow;
  const isLong = () => performance.now() > startMs + SYNC_TIMES.progress;
  const say = (line: string) => {
    if (isLong()) show(CLEAR_LINE);
    print(line);
  };
  return {
    say,
    warn,
    begin() {
      startMs = performance.now();
      done = [];
      [leftBefore, leftNow] = [leftNow, new Map()];
    },
    hasLeft: () => leftNow.size > 0,
    /** Says how much there is to do. */
    expect(count: number) {
      total = count;
    },
    done(action: string, path: string) {
      const what = DONE[action];
      if (what === undefined) return;
      done.push(what);
      say(`${action.replace(/^move.*/, 'move')} ${path}`);
      if (isLong()) show(`${CLEAR_LINE}${done.length} of ${total}`);
    },
    /** Tells what is left, once as long as the reason is the same. */
    left(path: string, why: string) {
      leftNow.set(path, why);
      if (leftBefore.get(path) !== why) warn(`left ${path}: ${why}`);
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
