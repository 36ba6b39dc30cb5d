// W4: pages of 60 MB, because each character of their notes is six in JSON.
import { setTimeout as delay } from 'node:timers/promises';
import { resetPeak, residentOf } from './memory.ts';
import { post, quantile, take, timesDuring } from './requests.ts';

const NOTES = 160;
const BODY = '\u0001'.repeat(100_000);
const IN_SEQUENCE = 20;
const AT_ONCE = 60;
/** How long the service has to give memory back. */
const REST_MS = 5_000;

/** The resident memory while one client reads large pages, while 60 do at once, and after it. */
export async function measureLargePages(
  url: string,
  pid: number | undefined,
): Promise<Record<string, number>> {
  for (let count = 0; count < NOTES; count += 1)
    await post(url, '/notes', { title: 'note', body: BODY });
  const { nowMb: beforeMb } = residentOf(pid);
  resetPeak(pid);
  let started = performance.now();
  for (let count = 0; count < IN_SEQUENCE; count += 1) await takePage(url, count);
  const sequenceSeconds = (performance.now() - started) / 1_000;
  const { peakMb: sequencePeakMb } = residentOf(pid);
  await delay(REST_MS);
  const { nowMb: sequenceRestMb } = residentOf(pid);
  resetPeak(pid);
  started = performance.now();
  const all = Promise.all(Array.from({ length: AT_ONCE }, (_, index) => takePage(url, index)));
  const others = await timesDuring(url, '/notes/1', all);
  const answers = await all;
  const atOnceSeconds = (performance.now() - started) / 1_000;
  const { peakMb: atOncePeakMb } = residentOf(pid);
  await delay(REST_MS);
  return {
    beforeMb,
    sequencePeakMb,
    sequenceRestMb,
    sequenceSeconds,
    atOncePeakMb,
    atOnceRestMb: residentOf(pid).nowMb,
    atOnceSeconds,
    served: answers.filter(({ status }) => status === 200).length,
    refused: answers.filter(({ status }) => status === 503).length,
    othersP50Ms: quantile(others, 0.5),
    othersMaxMs: quantile(others, 1),
  };
}

/** Reads a page that no other of the same round is equal to. */
function takePage(url: string, offset: number) {
  return take(url, `/notes?limit=100&offset=${offset}`);
}
