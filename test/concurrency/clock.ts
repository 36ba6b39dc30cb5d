// A clock that a test moves by hand. Unlike Node's mock timers it tells which timers are left.
import type { TestContext } from 'node:test';

interface Timer {
  readonly run: () => void;
  readonly ms: number;
  readonly due: number;
}

/** A clock that stands still until it is moved. */
export type Clock = ReturnType<typeof stopTime>;

/**
 * Replaces the global setTimeout and clearTimeout for the rest of the test. A timer of 0 ms waits
 * for the next turn of the event loop, not for the clock.
 */
export function stopTime(t: TestContext) {
  const timers = new Map<unknown, Timer>();
  const { setTimeout: setReal, clearTimeout: clearReal } = globalThis;
  let now = 0;

  function set(run: () => void, ms: number): object {
    if (ms === 0) return setReal(run, 0);
    const begin = () => void timers.set(handle, { run, ms, due: now + ms });
    const handle = { unref: () => handle, refresh: begin };
    begin();
    return handle;
  }

  function next(until: number): [unknown, Timer] | undefined {
    const due = [...timers].filter(([, timer]) => timer.due <= until);
    return due.sort(([, one], [, other]) => one.due - other.due)[0];
  }

  t.mock.method(globalThis, 'setTimeout', set as never);
  t.mock.method(globalThis, 'clearTimeout', (handle: unknown) => {
    if (!timers.delete(handle)) clearReal(handle as NodeJS.Timeout);
  });
  return {
    /** Lets this many milliseconds pass, and runs the timers that are due by then, in order. */
    tick(ms: number) {
      const end = now + ms;
      for (let first = next(end); first; first = next(end)) {
        const [handle, timer] = first;
        now = timer.due;
        timers.delete(handle);
        timer.run();
      }
      now = end;
    },
    /** Returns the durations of the timers that are set, in milliseconds, sorted. */
    pending: () => [...timers.values()].map(({ ms }) => ms).sort((one, other) => one - other),
  };
}
