// Work in the background, with pauses so that nobody waits long for it.
import { setTimeout as wait } from 'node:timers/promises';
import type { Core } from './feature.ts';

/** How a work may go on. */
export interface Pace {
  readonly isEnding: () => boolean;
  /** Resolves after `ms`, or at the end. */
  readonly pause: (ms: number) => Promise<void>;
}

/** When a work begins, and when again after it failed, or if another process does it; in ms. */
export interface WorkTimes {
  readonly firstPauseMs: number;
  readonly failedPauseMs: number;
}

/**
 * Does `work`, which resolves with the pause in ms until the next time, again and again, in one
 * process alone. The result ends it, and resolves then.
 */
export function workInBackground(
  name: string,
  { takeWork }: Pick<Core, 'takeWork'>,
  { firstPauseMs, failedPauseMs }: WorkTimes,
  work: (pace: Pace) => Promise<number>,
): () => Promise<void> {
  const ending = new AbortController();
  const isEnding = () => ending.signal.aborted;
  const pause = (ms: number) =>
    wait(ms, undefined, { signal: ending.signal, ref: false }).catch(() => {});

  async function run(): Promise<void> {
    let isMine = takeWork === undefined;
    for (let pauseMs = firstPauseMs; ; ) {
      await pause(pauseMs);
      if (isEnding()) return;
      try {
        isMine ||= (await takeWork?.(name)) ?? false;
        pauseMs = isMine ? await work({ isEnding, pause }) : failedPauseMs;
      } catch {
        pauseMs = failedPauseMs;
      }
    }
  }

  const running = run();
  return () => {
    ending.abort();
    return running;
  };
}
