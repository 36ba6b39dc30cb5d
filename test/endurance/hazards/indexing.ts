// Notes of the greatest length, stored faster than they can be indexed, and searches meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, send } from '../../support/http.ts';

const LENGTH = 100_000;
/** As many as a body of 1 MiB may contain, whatever the characters. */
const NOTES_PER_REQUEST = 3;
/** How long the search is repeated. */
const MAX_MS = 40_000;

/** Notes of one kind: the body for each number. */
const BODIES: Readonly<Record<string, (number: number) => string>> = {
  english: (number) => repeated((index) => `${word(number * 7 + index)} `),
  japanese: (number) => repeated((index) => kanji(number * 7 + index)),
  /** Each character stands for four words. */
  expanding: () => '\ufdfa'.repeat(LENGTH),
};

/** The kinds of notes that can be measured. */
export const KINDS_OF_NOTES: readonly string[] = Object.keys(BODIES);

function repeated(part: (index: number) => string): string {
  let text = '';
  for (let index = 0; text.length < LENGTH; index += 1) text += part(index);
  return text.slice(0, LENGTH);
}

/** Returns a number that looks random, and is small more often than large. */
function skewed(seed: number, max: number): number {
  const random = ((seed * 2_654_435_761) % 4_294_967_296) / 4_294_967_296;
  return Math.floor(max ** random);
}

const word = (seed: number) => (skewed(seed, 20_000) * 7_919).toString(36);
const kanji = (seed: number) => String.fromCodePoint(0x4e00 + skewed(seed, 3_000));

async function store(url: string, body: (number: number) => string, count: number): Promise<void> {
  const headers = { 'content-type': 'application/x-ndjson' };
  for (let from = 0; from < count; from += NOTES_PER_REQUEST) {
    const size = Math.min(NOTES_PER_REQUEST, count - from);
    const lines = Array.from({ length: size }, (_, index) =>
      JSON.stringify({ title: 'long', body: body(from + index) }),
    );
    const { status } = await send(url, 'POST', '/notes', { body: lines.join('\n'), headers });
    if (status !== 201) throw new Error(`the service has answered ${status} to long notes`);
  }
}

async function timed(call: () => Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
  const started = performance.now();
  const answer = await call();
  return { answer, ms: performance.now() - started };
}

/**
 * Stores `count` notes of a kind, and repeats a search until it is answered, while others read and,
 * unless `othersWrite` is false, write. Times are in ms; takes less than a minute.
 */
export async function measureIndexing(
  url: string,
  kind: string,
  { count = 200, othersWrite = true } = {},
): Promise<Record<string, number>> {
  const body = BODIES[kind];
  if (!body) throw new Error(`there are no notes of the kind ${kind}`);
  await store(url, body, count);
  const stored = performance.now();
  const estimates: { at: number; afterMs: number }[] = [];
  let isOver = false;
  const readMs: number[] = [];
  const writeMs: number[] = [];
  const others = (async () => {
    while (!isOver) {
      readMs.push((await timed(() => send(url, 'GET', '/livez'))).ms);
      const json = { name: 'ordinary' };
      if (othersWrite) writeMs.push((await timed(() => send(url, 'POST', '/tags', { json }))).ms);
      await delay(20);
    }
  })();
  let isUpToDate = false;
  for (let limit = 1; performance.now() - stored < MAX_MS; limit = (limit % 100) + 1) {
    const { status, headers } = await send(url, 'GET', `/notes?q=long&limit=${limit}`);
    isUpToDate = status === 200;
    if (isUpToDate) break;
    estimates.push({ at: performance.now(), afterMs: 1_000 * Number(headers['retry-after']) });
    await delay(200);
  }
  const over = performance.now();
  isOver = true;
  await others;
  const errors = estimates.map(({ at, afterMs }) => afterMs / Math.max(over - at, 1));
  return {
    isUpToDate: Number(isUpToDate),
    caughtUpMs: Math.round(over - stored),
    refusedSearches: estimates.length,
    firstEstimateMs: estimates[0]?.afterMs ?? 0,
    // 1 if the index was up to date exactly after the estimate.
    leastEstimateFactor: Number(Math.min(...errors, Infinity).toFixed(2)),
    slowestReadMs: Math.round(Math.max(...readMs, 0)),
    slowestWriteMs: Math.round(Math.max(...writeMs, 0)),
    medianWriteMs: Math.round(writeMs.sort((one, other) => one - other)[writeMs.length >> 1] ?? 0),
  };
}
