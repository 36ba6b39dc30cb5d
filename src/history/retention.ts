// Erases step by step, so that nobody waits long: all that is in the trash, and what is due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Core } from '../feature.ts';
import { SETTINGS, TRASH } from './kept.ts';
import { ERASURES, NO_END } from './writes.ts';

/** The times of retention; tests change them. */
export const RETENTION_TIMES = {
  everyMs: 3_600_000,
  /** The pause after a step of the background as a multiple of its time. */
  pauseFactor: 9,
  /** A stop waits for the end of a pause. */
  maxPauseMs: 250,
};

/** A row may take a hundred versions and many comments along. */
const STEP_ROWS = 16;
const DAY_MS = 86_400_000;

/** Erases the rows with times up to `time` and keys up to `last`. */
async function erase(
  { database, write, isStopping }: Core,
  kind: typeof ERASURES.notes,
  { time = NO_END, last = NO_END, pauseFactor = RETENTION_TIMES.pauseFactor },
): Promise<void> {
  let place = -NO_END;
  while (!isStopping()) {
    const parameter = JSON.stringify([time, Date.now(), place, last]);
    const [row] = await database.read({ sql: kind.find, parameter, isSlow: true });
    const keys: number[] = JSON.parse(String(row?.keys));
    for (let start = 0; start < keys.length; start += STEP_ROWS) {
      if (isStopping()) return;
      const startedMs = performance.now();
      await write(kind, 0, { rows: keys.slice(start, start + STEP_ROWS).map((key) => [key]) });
      const pauseMs = (performance.now() - startedMs) * pauseFactor;
      await wait(Math.min(pauseMs, RETENTION_TIMES.maxPauseMs));
    }
    if (typeof row?.next !== 'number') return;
    place = row.next;
  }
}

/** Erases what is in the trash at the time of the call. */
export async function emptyTrash(core: Core): Promise<void> {
  const sql = `SELECT max(position) AS last FROM ${TRASH.table}`;
  const [row] = await core.database.read({ sql });
  await erase(core, ERASURES.notes, { last: Number(row?.last), pauseFactor: 1 });
}

/** Erases what is due, now and every hour; the result ends this. With 0 days, all is due. */
export function startRetention(core: Core) {
  // A clock that is set forward must make nothing due.
  const leadMs = Date.now() - performance.now();
  let isMine = core.takeWork === undefined;

  async function eraseDue(): Promise<void> {
    isMine ||= (await core.takeWork?.('retention')) ?? false;
    if (!isMine) return;
    // Another service may have set them since.
    const [row] = await core.database.read({ sql: `SELECT days FROM ${SETTINGS}` });
    const nowMs = Math.min(Date.now(), performance.now() + leadMs);
    const time = row?.days === 0 ? NO_END : nowMs - Number(row?.days) * DAY_MS;
    for (const kind of Object.values(ERASURES)) await erase(core, kind, { time });
  }

  // What fails is repeated in an hour.
  const run = () => eraseDue().catch(() => {});
  let running = run();
  const timer = setInterval(() => {
    running = running.then(run);
  }, RETENTION_TIMES.everyMs).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
