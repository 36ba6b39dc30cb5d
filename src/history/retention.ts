// Erases step by step, so that nobody waits long: all that is in the trash, and what is due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Core } from '../feature.ts';
import { TRASH } from './kept.ts';
import { ERASE_DUE, NO_END } from './writes.ts';

/** The times of retention; tests change them. */
export const RETENTION_TIMES = {
  everyMs: 3_600_000,
  /** How long a step may take: after it, the next one has half or twice as many rows. */
  stepMs: 20,
  /** How many times as long as a step of the background takes it pauses. */
  pauseFactor: 9,
  /** A stop waits for the end of a pause. */
  maxPauseMs: 250,
};

/** For how many days texts are kept, and what only one of several processes can take. */
export interface RetentionOptions {
  readonly days: number;
  readonly places: { take(place: string): Promise<boolean> } | undefined;
}

/** Even a step of few rows can take long on a busy machine. */
const MIN_ROWS = 16;
const MAX_ROWS = 256;
const DAY_MS = 86_400_000;

type EraseCore = Pick<Core, 'database' | 'write' | 'isStopping'>;

async function erase(
  { database, write, isStopping }: EraseCore,
  kind: typeof ERASE_DUE.notes,
  [first, time]: readonly [id: number, time: number],
  pauseFactor = RETENTION_TIMES.pauseFactor,
): Promise<void> {
  for (let [id, count] = [first, MIN_ROWS]; !isStopping(); ) {
    const startedMs = performance.now();
    const rows = [[id, null, time, count]];
    const parameter = JSON.stringify([0, rows]);
    const [due] = await database.read({ sql: kind.statements.before.sql, parameter });
    const next = Number(due?.next ?? id);
    if (due?.count !== 0) await write(kind, 0, { rows });
    else if (next > id) [id, count] = [next, MIN_ROWS];
    else return;
    const tookMs = performance.now() - startedMs;
    const wanted = tookMs < RETENTION_TIMES.stepMs ? 2 * count : count / 2;
    count = Math.min(Math.max(wanted, MIN_ROWS), MAX_ROWS);
    await wait(Math.min(tookMs * pauseFactor, RETENTION_TIMES.maxPauseMs));
  }
}

/** Erases what is in the trash at the time of the call. */
export async function emptyTrash(core: EraseCore): Promise<void> {
  const sql = `SELECT max(position) AS last FROM ${TRASH.table}`;
  const [row] = await core.database.read({ sql });
  await erase(core, ERASE_DUE.notes, [Number(row?.last), NO_END], 1);
}

/** Erases what is due, now and every hour; the result ends this. With 0 days, all is due. */
export function startRetention(core: EraseCore, { days, places }: RetentionOptions) {
  // A clock that is set forward must make nothing due.
  const leadMs = Date.now() - performance.now();
  let isMine = places === undefined;
  let next: NodeJS.Timeout;
  let running = run();

  async function run(): Promise<void> {
    // What fails is repeated in an hour.
    await eraseDue().catch(() => {});
    next = setTimeout(() => {
      running = run();
    }, RETENTION_TIMES.everyMs).unref();
  }

  async function eraseDue(): Promise<void> {
    isMine ||= (await places?.take('retention')) ?? false;
    if (!isMine) return;
    const nowMs = Math.min(Date.now(), performance.now() + leadMs);
    const time = days === 0 ? NO_END : nowMs - days * DAY_MS;
    await erase(core, ERASE_DUE.notes, [NO_END, time]);
    await erase(core, ERASE_DUE.versions, [-NO_END, time]);
  }

  return async () => {
    await running;
    clearTimeout(next);
  };
}
