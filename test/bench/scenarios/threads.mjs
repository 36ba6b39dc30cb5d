// Compares /counter/increment, HTTP included, with the same counter on Python's threads.
import { execFileSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import { ALL_CORES, here, SERVERS, withServers } from '../servers.mjs';

export const about = "counters a second, beside those of Python's threads";

export const defaults = {
  workers: [16, 4],
  count: 1_000,
  clients: [1, 4],
  rounds: 10,
  seconds: 1,
};

function post(url, agent, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.on('end', () => resolve(answer.statusCode)).resume();
    });
    sent.on('error', reject).end(body);
  });
}

/** Resolves with the runs in each second. */
async function rateOf(url, workers, count, clients, seconds) {
  const agent = new Agent({ keepAlive: true });
  const body = JSON.stringify({ workers, count });
  const begin = performance.now();
  const client = async () => {
    let runs = 0;
    for (; performance.now() - begin < seconds * 1_000; runs += 1) {
      const status = await post(`${url}/counter/increment`, agent, body);
      if (status !== 200) throw new Error(`${workers} workers: ${status}`);
    }
    return runs;
  };
  const runs = await Promise.all(Array.from({ length: clients }, client));
  const rate = runs.reduce((sum, each) => sum + each) / ((performance.now() - begin) / 1_000);
  agent.destroy();
  return rate;
}

function pythonRate(...args) {
  return Number(execFileSync('python3', [here('peers/counter.py'), ...args.map(String)]));
}

/** Returns the median and the largest of some rates. */
function summary(rates) {
  const sorted = rates.toSorted((one, other) => one - other);
  return `${sorted[sorted.length >> 1].toFixed(0)} (at most ${sorted.at(-1).toFixed(0)})`;
}

export async function run({ workers, count, clients, rounds, seconds }) {
  await withServers({ ours: SERVERS.ours }, { cores: ALL_CORES }, async ([{ url, residentMb }]) => {
    for (const size of workers) {
      for (const number of clients) {
        const [ours, python] = [[], []];
        // The first round starts the threads.
        for (let round = 0; round <= rounds; round += 1) {
          ours.push(await rateOf(url, size, count, number, seconds));
          python.push(pythonRate(size, count, number, seconds));
        }
        const rates = `${summary(ours.slice(1))}, Python ${summary(python.slice(1))}`;
        console.log(`${size} workers, ${number} clients: ${rates}, ${residentMb().toFixed(0)} MB`);
      }
    }
  });
}
