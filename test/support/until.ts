// Waits for a state instead of a time.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';

const PATIENCE_MS = 30_000;

/** Looks at each turn of the event loop first, then each millisecond: what it waits for needs the processor too. */
const QUICK_LOOKS = 20;

// A test may replace the global timer.
const { setTimeout: startTimer } = globalThis;

/** Resolves once `holds` is true. Rejects if it is not after a time far longer than anything takes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let look = 0; !(await holds()); look += 1) {
    assert.ok(performance.now() < deadline, `waited in vain for ${holds}`);
    if (look < QUICK_LOOKS) await nextTurn();
    else await new Promise((resolve) => startTimer(resolve, 1));
  }
}
