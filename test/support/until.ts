// Waits for a condition instead of a fixed time.
import assert from 'node:assert/strict';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

const MAX_WAIT_MS = 30_000;

/** How many turns of the event loop are tried without a pause. */
const EAGER_TURNS = 20;

/** Resolves once `holds` returns true; rejects after half a minute. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (let turn = 0; !(await holds()); turn += 1) {
    assert.ok(performance.now() < deadline, `waited in vain for ${holds}`);
    // Later with a pause: the cores may be needed by what is waited for.
    await (turn < EAGER_TURNS ? nextTurn() : delay(1));
  }
}
