// Replaces a process that has ended: at once, and ever later while each replacement ends soon after
// its start.
import { setTimeout as delay } from 'node:timers/promises';

/** The delays between an end and the next start. */
const REPLACEMENT = { soonMs: 1_000, firstDelayMs: 100, longestDelayMs: 5_000 };

/** What a replaceable process offers. */
export interface Replaceable {
  /** Resolves with a status, signal or error when the process has ended. */
  readonly ended: Promise<number | string>;
}

/** What keeping processes alive depends on. */
export interface ReplacementOptions<Process> {
  /** Starts another process; resolves with undefined if that fails. */
  readonly start: () => Promise<Process | undefined>;
  /** Called when a process has ended. */
  readonly onEnd: (ended: Process, status: number | string) => void;
  /** Ends the replacing. */
  readonly signal: AbortSignal;
}

/** Resolves when `signal` aborts; until then there is always a process in the place of `first`. */
export async function keepReplacing<Process extends Replaceable>(
  first: Process,
  { start, onEnd, signal }: ReplacementOptions<Process>,
): Promise<void> {
  let current: Process | undefined = first;
  let delayMs = 0;
  while (!signal.aborted) {
    const since = performance.now();
    if (current) {
      const status = await current.ended;
      if (signal.aborted) return;
      onEnd(current, status);
    }
    delayMs = performance.now() - since < REPLACEMENT.soonMs ? longer(delayMs) : 0;
    await delay(delayMs, undefined, { signal }).catch(() => {});
    current = signal.aborted ? undefined : await start();
  }
}

function longer(delayMs: number): number {
  return Math.min(Math.max(2 * delayMs, REPLACEMENT.firstDelayMs), REPLACEMENT.longestDelayMs);
}
