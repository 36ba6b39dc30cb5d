// Waiting for a state instead of a time.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';

const PATIENCE_MS = 10_000;

/** Resolves once `holds` is true; rejects if it is not in ten seconds, which is far more than anything here takes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `waited in vain for ${holds}`);
    await nextTurn();
  }
}
