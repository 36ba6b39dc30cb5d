// Compares several processes with one, in alternating rounds; services and load share all cores.
// Prints requests per second (medians), the 99th percentile, the cores that the service used, and
// the ratios to one process of the rate and of the least CPU time per request.
//   node test/bench/processes.mjs [--processes 2] [--rounds 5] [--seconds 2] [--connections 64] [--works get,...]
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { least, median } from './figures.mjs';
import { drive, preload, SERVERS, start, warmUp } from './servers.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
    works: { type: 'string', default: 'get,page,post,put,mix' },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
);
const NOTES = 10_000;
const CORES = `0-${availableParallelism() - 1}`;

const folder = mkdtempSync(join(tmpdir(), 'notes-server-bench-'));
const services = [];
for (const processes of ['1', values.processes]) {
  const command = (port) => [
    ...SERVERS.ours(port, join(folder, `${processes}.db`)),
    '--processes',
    processes,
  ];
  const service = await start(command, CORES);
  await preload(service.url, NOTES);
  services.push({ ...service, processes });
}
try {
  for (const work of values.works.split(',')) {
    warmUp(services, work, NOTES);
    const rows = services.map((service) => ({
      ...service,
      rate: [],
      p99: [],
      cores: [],
      cpuUs: [],
    }));
    for (let round = 0; round < rounds; round += 1) {
      for (const { url, cpu, rate, p99, cores, cpuUs } of rows) {
        const before = cpu();
        const measured = drive(url, work, { connections, seconds, notes: NOTES, cores: CORES });
        rate.push(measured.requests / measured.seconds);
        p99.push(measured.p99);
        const used = cpu() - before;
        cores.push(used / measured.seconds);
        cpuUs.push((1e6 * used) / measured.requests);
      }
    }
    const cells = rows.map(
      ({ processes, rate, p99, cores }) =>
        `${processes}: ${median(rate).toFixed(0).padStart(6)}/s p99 ${median(p99).toFixed(1).padStart(5)} ms, ${median(cores).toFixed(2)} cores`,
    );
    const ratios = rows[0].rate.map((one, round) => rows[1].rate[round] / one);
    const leastRatio = least(rows[1].cpuUs) / least(rows[0].cpuUs);
    console.log(
      `  ${work.padEnd(5)} ${cells.join('   ')}   ratio ${median(ratios).toFixed(2)}, of the CPU ${leastRatio.toFixed(2)}`,
    );
  }
} finally {
  for (const { stop } of services) await stop();
  rmSync(folder, { recursive: true });
}
