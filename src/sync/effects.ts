// Where a run can be interrupted, and how long it waits. Tests change both.

/** What a run changes: on the disk, in its state, or in the service. */
export type Effect = 'folder' | 'aside' | 'place' | 'remove' | 'trash' | 'state' | 'request';

/** `before` is called before each effect, with what it is about. */
export const EFFECTS = { before(_effect: Effect, _what: string): void {} };

/** The times of a run, in milliseconds. */
export const SYNC_TIMES = {
  /** Editors take a file away while they save it: one is deleted only if it stays away. */
  missing: 1_000,
  /** How long a second of `retry-after` is. */
  second: 1_000,
  /** Before the first repetition of a request without an answer; each further wait is longer. */
  retry: 200,
  /** After so long with nothing but refusals, a run gives up. */
  overload: 300_000,
  /** A file that was written so shortly before it was read may have been written again. */
  racy: 2_000,
  /** What was replaced may still be written for so long by a program that has it open. */
  aside: 60_000,
  /** A lock whose process cannot be seen is held if it was refreshed so shortly before. */
  lock: 120_000,
  /** Before the progress is shown. */
  progress: 1_000,
  /** Several events in the folder are one change. */
  collect: 300,
  /** Between two looks, while the folder can be watched or not. */
  look: 60_000,
  /** Before a stream that has ended is opened again. */
  relisten: 1_000,
  lookUnwatched: 2_000,
};
