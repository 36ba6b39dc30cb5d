// Measures overload: the capacity first (a closed load), then the same work as an open load at half
// and at twice the capacity. Prints the answered and the refused requests, their latencies, and the
// latency of /health. Run it after `npm run build`. Other trees, also built, take turns
// with this one:
//   node test/bench/overload.mjs [work,work...] [seconds] [rounds] [tree...]
import { fileURLToPath } from 'node:url';
import { percentile, run, start } from './load.mjs';

const [works = 'get,page,post,mixed', seconds = '5', rounds = '1', ...others] =
  process.argv.slice(2);
const trees = [fileURLToPath(new URL('../..', import.meta.url)), ...others];
const CONNECTIONS = 64;
/** The connections of the open loads: more than can be answered in time. */
const MANY_CONNECTIONS = 4_000;

const ms = (time) => time.toFixed(time < 10 ? 1 : 0).padStart(6);
function tell(name, { times, statuses, sent, lost, seconds: took }) {
  const share = (100 * times.shed.length) / Math.max(1, times.shed.length + times.ok.length);
  console.log(
    `  ${name.padEnd(16)} sent ${String(Math.round(sent / took)).padStart(6)}/s  answered ${String(Math.round(times.ok.length / took)).padStart(6)}/s` +
      ` p50 ${ms(percentile(times.ok, 0.5))} p99 ${ms(percentile(times.ok, 0.99))} ms  503 ${share.toFixed(0).padStart(3)} %` +
      ` p99 ${ms(percentile(times.shed, 0.99))} ms  health p99 ${ms(percentile(times.health, 0.99))} ms  lost ${lost}  ${JSON.stringify(statuses)}`,
  );
}

for (let round = 0; round < Number(rounds); round += 1) {
  for (const work of works.split(',')) {
    for (const tree of trees) {
      const service = await start(tree);
      const load = { port: service.port, work, seconds: Number(seconds) };
      try {
        console.log(`${work} ${tree}`);
        await run({ ...load, seconds: 2, connections: CONNECTIONS });
        const closed = await run({ ...load, connections: CONNECTIONS });
        tell('closed, 64', closed);
        const capacity = closed.times.ok.length / closed.seconds;
        for (const times of [0.5, 2]) {
          const open = { ...load, rate: times * capacity, connections: MANY_CONNECTIONS };
          // Exclude the burst that is accepted at first.
          await run({ ...open, seconds: 3 });
          tell(`open, ${times} x`, await run(open));
        }
        const mb = (name) => (service.status(name) / 1_024).toFixed(0);
        console.log(`  memory ${mb('VmRSS')} MB, at most ${mb('VmHWM')} MB`);
      } finally {
        await service.stop();
      }
    }
  }
}
