// Searches that take as long as the service lets them, and an ordinary search behind them.
import { setTimeout as delay } from 'node:timers/promises';
import { send } from '../../support/http.ts';
import { until } from '../../support/until.ts';

/** SQLite compares each of these characters with each of a phrase. */
const LONG_BODY = 'あ'.repeat(100_000);
const LONG_NOTES = 100;
/** As many as a body of 1 MiB may contain. */
const NOTES_PER_REQUEST = 3;

const HOSTILE_SEARCHES = 8;

/** How a search was answered, and how long the answer took. */
interface Timed {
  readonly status: number;
  readonly ms: number;
}

async function search(url: string, query: string, limit: number, client: string): Promise<Timed> {
  const path = `/notes?q=${encodeURIComponent(query)}&limit=${limit}`;
  const started = performance.now();
  const { status } = await send(url, 'GET', path, { headers: { 'x-forwarded-for': client } });
  return { status, ms: Math.round(performance.now() - started) };
}

/** Resolves with the longest run of a common character that the service accepts. */
async function longestRun(url: string, client: string): Promise<string> {
  for (let length = 500; ; length -= 4) {
    const run = 'あ'.repeat(length);
    if ((await search(url, run, 100, client)).status !== 422) return run;
  }
}

async function fill(url: string): Promise<void> {
  const headers = { 'content-type': 'application/x-ndjson' };
  const line = JSON.stringify({ title: 'long', body: LONG_BODY });
  const body = Array<string>(NOTES_PER_REQUEST).fill(line).join('\n');
  for (let count = 0; count < LONG_NOTES; count += NOTES_PER_REQUEST)
    await send(url, 'POST', '/notes', { body, headers });
  await send(url, 'POST', '/notes', { json: { title: 'small', body: 'b' } });
  await until(async () => (await search(url, 'small', 1, '192.0.2.1')).status === 200);
}

/**
 * Stores 100 long notes, and sends an ordinary search after 8 hostile ones. With `--trust-proxy`
 * it comes from another client. Times are in ms; takes less than a minute.
 */
export async function measureSearches(url: string): Promise<Record<string, number>> {
  const [ordinary, hostile] = ['192.0.2.1', '192.0.2.2'];
  await fill(url);
  const alone = await search(url, 'small', 2, ordinary);
  const run = await longestRun(url, hostile);
  // Different answers, because equal ones might be kept in memory.
  const attacks = Array.from({ length: HOSTILE_SEARCHES }, (_, index) =>
    search(url, run, index + 1, hostile),
  );
  await delay(50);
  const behind = await search(url, 'small', 3, ordinary);
  const next = await search(url, 'small', 4, ordinary);
  const times = (await Promise.all(attacks)).map(({ ms }) => ms);
  return {
    hostileCharacters: run.length,
    slowestHostileMs: Math.max(...times),
    aloneMs: alone.ms,
    behindStatus: behind.status,
    behindMs: behind.ms,
    nextStatus: next.status,
    nextMs: next.ms,
  };
}
