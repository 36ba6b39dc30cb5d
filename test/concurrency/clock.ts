// A clock that a test moves by hand, so that nothing waits for time and nothing is late. Unlike the timers of Node's mocks
// it knows refresh(), and it can say which timers are left.
import type { TestContext } from 'node:test';

interface Timer {
  readonly run: () => void;
  readonly ms: number;
  due: number;
}

/** A clock that stands still until it is moved. */
export interface Clock {
  /** Lets this many milliseconds pass: what is due by then runs, in its order. */
  tick(ms: number): void;
  /** The times of the timers that are set, in milliseconds from when they were set, sorted. */
  pending(): number[];
}

/** Replaces the global setTimeout and clearTimeout for the rest of the test. */
export function stopTime(t: TestContext): Clock {
  const timers = new Map<unknown, Timer>();
  let now = 0;

  function set(run: () => void, ms: number): object {
    const timer = { run, ms, due: now + ms };
    const handle = {
      unref: () => handle,
      refresh() {
        timer.due = now + ms;
        // Node's timers too come back to life by it.
        timers.set(handle, timer);
        return handle;
      },
    };
    timers.set(handle, timer);
    return handle;
  }

  function next(until: number): [unknown, Timer] | undefined {
    const due = [...timers].filter(([, timer]) => timer.due <= until);
    return due.sort(([, one], [, other]) => one.due - other.due)[0];
  }

  t.mock.method(globalThis, 'setTimeout', set as never);
  t.mock.method(globalThis, 'clearTimeout', (handle: unknown) => void timers.delete(handle));
  return {
    tick(ms) {
      const end = now + ms;
      for (let first = next(end); first; first = next(end)) {
        const [handle, timer] = first;
        now = timer.due;
        timers.delete(handle);
        timer.run();
      }
      now = end;
    },
    pending: () => [...timers.values()].map(({ ms }) => ms).sort((one, other) => one - other),
  };
}
