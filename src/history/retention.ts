// Erases what is due, and versions beyond 100 of a note, step by step, so that nobody waits long.
import { type Pace, workInBackground } from '../background.ts';
import type { Core } from '../feature.ts';
import { SETTINGS } from './kept.ts';
import { EMPTY_TRASH, ERASURES, LAST_VERSION, NO_END, onRows, THINNING } from './writes.ts';

/** The times of retention; tests change them. */
export const RETENTION_TIMES = {
  everyMs: 3_600_000,
  /** When to look for versions beyond 100 of a note. */
  thinEveryMs: 10_000,
  /** The pause after a step of the background as a multiple of its time. */
  pauseFactor: 9,
};

/** The texts of this many rows are erased within some milliseconds. */
const STEP_ROWS = 16;
const DAY_MS = 86_400_000;

/** Erases the rows after `place` that `kind` finds, up to `time`. */
async function erase(
  { database, write }: Core,
  kind: typeof ERASURES.notes,
  { isEnding, pause }: Pace,
  { time = NO_END, place = -NO_END },
): Promise<void> {
  while (!isEnding()) {
    const parameter = JSON.stringify([time, Date.now(), place]);
    const [row] = await database.read({ sql: kind.find, parameter, isSlow: true });
    const keys: number[] = JSON.parse(String(row?.keys));
    for (let start = 0; start < keys.length && !isEnding(); start += STEP_ROWS) {
      const startedMs = performance.now();
      await write(kind, onRows(keys.slice(start, start + STEP_ROWS)));
      await pause((performance.now() - startedMs) * RETENTION_TIMES.pauseFactor);
    }
    // Where something was erased, there may be more.
    if (keys.length > 0) continue;
    if (typeof row?.next !== 'number') return;
    place = row.next;
  }
}

/** Erases what is due, now and every hour; the result ends this. With 0 days, all is due. */
export function startRetention(core: Core): () => Promise<void> {
  const { everyMs } = RETENTION_TIMES;

  async function eraseDue(pace: Pace): Promise<number> {
    // Another service may have set them since.
    const [row] = await core.database.read({ sql: `SELECT days FROM ${SETTINGS}` });
    // A clock that is set forward must make nothing due.
    const nowMs = Math.min(Date.now(), performance.timeOrigin + performance.now());
    const time = row?.days === 0 ? NO_END : nowMs - Number(row?.days) * DAY_MS;
    if (row?.days === 0) await core.write(EMPTY_TRASH, onRows([0]));
    for (const kind of Object.values(ERASURES)) await erase(core, kind, pace, { time });
    return everyMs;
  }

  const times = { firstPauseMs: 0, failedPauseMs: everyMs };
  return workInBackground('retention', core, times, eraseDue).end;
}

/** Erases versions beyond 100 of a note, now and every few seconds; the result ends this. */
export function startThinning(core: Core): () => Promise<void> {
  const { thinEveryMs: everyMs } = RETENTION_TIMES;
  let place: number | undefined;

  async function thin(pace: Pace): Promise<number> {
    const [row] = await core.database.read({ sql: LAST_VERSION });
    const last = Number(row?.last);
    if (place === undefined) await erase(core, THINNING.all, pace, {});
    else if (last > place) await erase(core, THINNING.later, pace, { place });
    place = last;
    return everyMs;
  }

  const times = { firstPauseMs: 0, failedPauseMs: everyMs };
  return workInBackground('thinning', core, times, thin).end;
}
