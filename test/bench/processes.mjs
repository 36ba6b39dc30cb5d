// Compares several processes with one, in alternating rounds; services and load share all cores.
// Prints requests per second (medians), the ratio to one process, the 99th percentile, and the
// cores that the service and the load used.
//   node test/bench/processes.mjs [--processes 2] [--rounds 5] [--seconds 2] [--connections 64]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './figures.mjs';
import { drive, preload, SERVERS, start } from './servers.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
);
const NOTES = 10_000;
const WORKS = ['get', 'page', 'post', 'put', 'mix'];
const CORES = `0-${availableParallelism() - 1}`;

/** Returns the CPU seconds of a process and its children. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean);
  return (
    (Number(fields[11]) + Number(fields[12])) / 100 +
    children.reduce((sum, child) => sum + cpuOf(child), 0)
  );
}

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
  for (const work of WORKS) {
    const rows = services.map((service) => ({ ...service, rate: [], p99: [], cores: [] }));
    for (let round = 0; round < rounds; round += 1) {
      for (const { url, pid, rate, p99, cores } of rows) {
        const before = cpuOf(pid);
        const measured = drive(url, work, { connections, seconds, notes: NOTES, cores: CORES });
        rate.push(measured.requests / measured.seconds);
        p99.push(measured.p99);
        cores.push((cpuOf(pid) - before) / measured.seconds);
      }
    }
    const cells = rows.map(
      ({ processes, rate, p99, cores }) =>
        `${processes}: ${median(rate).toFixed(0).padStart(6)}/s p99 ${median(p99).toFixed(1).padStart(5)} ms, ${median(cores).toFixed(2)} cores`,
    );
    const ratios = rows[0].rate.map((one, round) => rows[1].rate[round] / one);
    console.log(`  ${work.padEnd(5)} ${cells.join('   ')}   ratio ${median(ratios).toFixed(2)}`);
  }
} finally {
  for (const { stop } of services) await stop();
  rmSync(folder, { recursive: true });
}
