// Compares /counter/increment, HTTP included, with the same counter on Python's threads.
import { execFileSync } from 'node:child_process';
import { median } from '../figures.mjs';
import { generate } from '../load.mjs';
import { ALL_CORES as cores, here, SERVERS, withServers } from '../servers.mjs';

export const about = "counters a second, beside those of Python's threads";

export const defaults = { workers: [16, 4], clients: [1, 4], rounds: 10, seconds: 1 };

/** As in the work of generator.mjs. */
const COUNT = 1_000;

/** Resolves with the runs in each second. */
async function rateOf(url, workers, clients, seconds) {
  const load = { connections: clients, seconds, notes: workers, cores };
  const { times, statuses, seconds: took } = await generate(url, 'count', load);
  if (Object.keys(statuses).some((status) => status !== '200'))
    throw new Error(`${workers} workers: ${JSON.stringify(statuses)}`);
  return times.ok.length / took;
}

function pythonRate(...args) {
  return Number(execFileSync('python3', [here('peers/counter.py'), ...args.map(String)]));
}

/** Returns the median and the largest of some rates. */
const summary = (rates) => `${median(rates).toFixed(0)} (at most ${Math.max(...rates).toFixed(0)})`;

export async function run({ workers, clients, rounds, seconds }) {
  await withServers({ ours: SERVERS.ours }, { cores }, async ([{ url, residentMb }]) => {
    for (const size of workers) {
      for (const number of clients) {
        const [ours, python] = [[], []];
        // The first round starts the threads.
        for (let round = 0; round <= rounds; round += 1) {
          ours.push(await rateOf(url, size, number, seconds));
          python.push(pythonRate(size, COUNT, number, seconds));
        }
        const rates = `${summary(ours.slice(1))}, Python ${summary(python.slice(1))}`;
        console.log(`${size} workers, ${number} clients: ${rates}, ${residentMb().toFixed(0)} MB`);
      }
    }
  });
}
