// Replaces a process that has ended: at once, or after a growing delay if it ended soon after its
// start.
import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from './child.ts';

/** The delay doubles each time that a process lived for less than `minLifeMs`; else it is 0. */
const REPLACEMENT = { minLifeMs: 1_000, firstDelayMs: 100, maxDelayMs: 5_000 };

/** The options of {@link keepReplacing}. */
export interface ReplacementOptions {
  /** Starts another process; resolves with undefined if that fails. */
  readonly start: () => Promise<Child | undefined>;
  /** Called when a process has ended. */
  readonly onEnd: (ended: Child, status: number | string) => void;
  /** Stops the replacement. */
  readonly signal: AbortSignal;
}

/** Replaces `first`, and each replacement, when it ends. Resolves after `signal` has aborted. */
export async function keepReplacing(
  first: Child,
  { start, onEnd, signal }: ReplacementOptions,
): Promise<void> {
  let current: Child | undefined = first;
  let delayMs = 0;
  while (!signal.aborted) {
    const since = performance.now();
    if (current) {
      const status = await current.ended;
      if (signal.aborted) return;
      onEnd(current, status);
    }
    delayMs = performance.now() - since < REPLACEMENT.minLifeMs ? longer(delayMs) : 0;
    await delay(delayMs, undefined, { signal }).catch(() => {});
    current = signal.aborted ? undefined : await start();
  }
}

function longer(delayMs: number): number {
  return Math.min(Math.max(2 * delayMs, REPLACEMENT.firstDelayMs), REPLACEMENT.maxDelayMs);
}
