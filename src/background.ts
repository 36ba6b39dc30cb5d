// Work in the background, with pauses so that nobody waits long for it.
import { setTimeout as wait } from 'node:timers/promises';
import type { Core } from './feature.ts';

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

export interface Work {
  /** Ends the pause that it makes, or else the next one. */
  readonly wake: () => void;
  /** Resolves when it has ended. */
  readonly end: () => Promise<void>;
}

/**
 * Does `work`, which resolves with the pause in ms until the next time, again and again, in one
 * process alone.
 */
export function workInBackground(
  name: string,
  { takeWork }: Pick<Core, 'takeWork'>,
  { firstPauseMs, failedPauseMs }: WorkTimes,
  work: (pace: Pace) => Promise<number>,
): Work {
  let waking = new AbortController();
  let isOver = false;
  const isEnding = () => isOver;

  async function pause(ms: number): Promise<void> {
    if (ms > 0) await wait(ms, undefined, { signal: waking.signal, ref: false }).catch(() => {});
    if (!isOver) waking = new AbortController();
  }

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
  return {
    wake: () => waking.abort(),
    end() {
      isOver = true;
      waking.abort();
      return running;
    },
  };
}
