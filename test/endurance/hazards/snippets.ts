// W3: snippets of long texts whose characters stand for many others.
import { setTimeout as delay } from 'node:timers/promises';
import { mainThreadMsOf } from './memory.ts';
import { post, quantile, take, takeWhenServed, timesDuring } from './requests.ts';

const NOTES = 100;
/** Each is folded to 18 letters and spaces. */
const LIGATURES = '\ufdfa'.repeat(99_990);
const CATCH_UP_MS = 60_000;
// The index contains only the title, because the body has too many letters.
const PAGE = `/notes?q=needle&include=snippet&limit=${NOTES}`;
const OTHER = '/notes/1';

/** What one page of snippets costs, what three do to others, and what an abandoned one costs. */
export async function measureSnippets(
  url: string,
  pid: number | undefined,
): Promise<Record<string, number>> {
  for (let count = 0; count < NOTES; count += 1)
    await post(url, '/notes', { title: 'needle', body: `${LIGATURES} needle` });
  await takeWhenServed(url, '/notes?q=needle&limit=1', CATCH_UP_MS);
  const idle = await timesDuring(url, OTHER, delay(1_000));
  // The least of several, because other work on the machine adds to each.
  let pageMainThreadMs = Number.POSITIVE_INFINITY;
  let page = await take(url, PAGE);
  for (let count = 0; count < 5; count += 1) {
    const before = mainThreadMsOf(pid);
    page = await take(url, PAGE);
    pageMainThreadMs = Math.min(pageMainThreadMs, mainThreadMsOf(pid) - before);
  }
  // Each page has another query, so that none is in memory.
  const three = Promise.all([1, 2, 3].map((offset) => take(url, `${PAGE}&offset=${offset}`)));
  const others = await timesDuring(url, OTHER, three);
  const left = await abandon(url, pid);
  return {
    pageStatus: page.status,
    pageMs: page.milliseconds,
    pageMainThreadMs,
    threePagesMs: Math.max(...(await three).map(({ milliseconds }) => milliseconds)),
    othersIdleP50Ms: quantile(idle, 0.5),
    othersP50Ms: quantile(others, 0.5),
    othersMaxMs: quantile(others, 1),
    abandonedMainThreadMs: left,
  };
}

/** Requests a page and leaves at once; resolves with the main thread's CPU time in the next 2 s. */
async function abandon(url: string, pid: number | undefined): Promise<number> {
  const leaving = new AbortController();
  const asked = fetch(`${url}${PAGE}&offset=4`, { signal: leaving.signal });
  await delay(50);
  leaving.abort();
  await asked.then((answer) => answer.body?.cancel()).catch(() => {});
  const before = mainThreadMsOf(pid);
  await delay(2_000);
  return mainThreadMsOf(pid) - before;
}
