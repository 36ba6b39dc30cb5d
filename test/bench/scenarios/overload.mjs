// Measures overload: the capacity first (a closed load), then the same work as an open load at half
// and at twice the capacity. Prints the answered and the refused requests, their latencies, and the
// latency of /health. Trees take turns.
import { generate, percentile } from '../load.mjs';
import { serviceOf, TREE, withServers } from '../servers.mjs';

export const about = '[TREE...]: half and twice the load that the service can handle';

export const defaults = {
  works: ['get', '/notes?limit=100', 'page', 'post', 'mix'],
  rounds: 1,
  seconds: 5,
  notes: 1_000,
};

const CONNECTIONS = 64;
/** The connections of the open loads: more than can be answered in time. */
const MANY_CONNECTIONS = 4_000;

function tell(name, { times, statuses, sent, lost, seconds }) {
  const { ok, shed, health } = times;
  const rate = (count) => `${(count / seconds).toFixed(0)}/s`;
  const ms = (each, share) => percentile(each, share).toFixed(1);
  const refused = (100 * shed.length) / Math.max(1, shed.length + ok.length);
  console.log(
    `  ${name.padEnd(8)} sent ${rate(sent)}, lost ${lost}, answered ${rate(ok.length)}: ` +
      `p50 ${ms(ok, 0.5)}, p99 ${ms(ok, 0.99)} ms; ` +
      `refused ${refused.toFixed(0)} %: p99 ${ms(shed, 0.99)} ms; ` +
      `health: p99 ${ms(health, 0.99)} ms; ${JSON.stringify(statuses)}`,
  );
}

async function overload({ url, residentMb, peakMb }, work, load) {
  const closed = { ...load, connections: CONNECTIONS };
  await generate(url, work, { ...closed, seconds: 2 });
  const measured = await generate(url, work, closed);
  tell('closed', measured);
  const capacity = measured.times.ok.length / measured.seconds;
  for (const times of [0.5, 2]) {
    const open = { ...load, rate: times * capacity, connections: MANY_CONNECTIONS };
    // Exclude the burst that is accepted at first.
    await generate(url, work, { ...open, seconds: 3 });
    tell(`${times} times`, await generate(url, work, open));
  }
  console.log(`  memory ${residentMb().toFixed(0)} MB, at most ${peakMb().toFixed(0)} MB`);
}

export async function run({ works, rounds, ...load }, trees) {
  for (let round = 0; round < rounds; round += 1)
    for (const work of works)
      for (const tree of trees.length > 0 ? trees : [TREE]) {
        console.log(`${work} ${tree}`);
        await withServers({ ours: serviceOf(tree) }, load, ([server]) =>
          overload(server, work, load),
        );
      }
}
