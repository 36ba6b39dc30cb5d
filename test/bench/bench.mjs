// Compares the speed of the service with other servers that do the same: `npm run bench` (after
// `npm ci`). Many short rounds alternate, and the server has one core. Prints medians, spread, the
// CPU time per request (the least, and the lower quartile) and ratios, and writes bench.json and
// bench.svg to its own folder. It takes about 17 minutes.
//   node test/bench/bench.mjs [--rounds 8] [--seconds 0.4] [--notes 10000] [--connections 1,8,64,256] [--works get,...] [--servers ours,...]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chart } from './chart.mjs';
import { counter, printCounter } from './counter.mjs';
import { least, median, quantile, ratioTable } from './figures.mjs';
import { drive, installPeers, pinned, preload, SERVERS, start, warmUp } from './servers.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '0.4' },
    notes: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '1,8,64,256' },
    works: { type: 'string', default: 'get,page,post,put,mix' },
    servers: { type: 'string', default: Object.keys(SERVERS).join(',') },
    out: { type: 'string', default: fileURLToPath(new URL('.', import.meta.url)) },
  },
});
const [rounds, seconds, notes] = [values.rounds, values.seconds, values.notes].map(Number);
const names = values.servers.split(',');
const works = values.works.split(',');
const allConnections = values.connections.split(',').map(Number);

/** The rounds of measurements that take long. */
const FEW_ROUNDS = Math.min(rounds, 5);
const MANY_REQUESTS = 1_000_000;
/** The number of requests of each kind of work before the memory of a server is measured. */
const SAME_REQUESTS = 20_000;

const spread = (figures) => (Math.max(...figures) - Math.min(...figures)) / median(figures);
const cell = (figure, digits = 0) => figure.toFixed(digits).padStart(9);

function emptyNodeMs() {
  const [program, ...args] = pinned(0, [process.execPath, '--eval', '']);
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    execFileSync(program, args);
    return performance.now() - started;
  });
  return median(times);
}

installPeers();
const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
const running = new Map();
const results = [];
const total = works.length * allConnections.length * rounds * names.length;
let done = 0;

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

try {
  for (const name of names) {
    progress(`${name}: ${notes} notes`);
    const server = await start((port) => SERVERS[name](port, join(folder, `${name}.db`)));
    running.set(name, server);
    if (name !== 'bare') await preload(server.url, notes);
  }
  for (const work of works) {
    progress(`${work}: warming up`);
    warmUp(running.values(), work, notes);
    for (const connections of allConnections) {
      const rows = names.map((server) => ({
        work,
        connections,
        server,
        rate: [],
        p50: [],
        p99: [],
        cpuUs: [],
      }));
      for (let round = 0; round < rounds; round += 1) {
        for (const row of rows) {
          done += 1;
          progress(`${done}/${total}: ${work}, ${connections} connections, ${row.server}`);
          const { url, cpu } = running.get(row.server);
          const before = cpu();
          const measured = drive(url, work, { connections, seconds, notes });
          row.rate.push(measured.requests / measured.seconds);
          row.p50.push(measured.p50);
          row.p99.push(measured.p99);
          row.cpuUs.push((1e6 * (cpu() - before)) / measured.requests);
        }
      }
      results.push(...rows);
      progress('');
      tell(work, connections, rows);
    }
  }
  const afterMany = running.has('ours') ? manyRequests(running.get('ours')) : undefined;
  for (const { stop } of running.values()) await stop();
  running.clear();
  const memory = await measureMemory();
  const starts = await measureStarts();
  tellServers(memory, starts);
  if (afterMany) {
    const { requests, residentMb } = afterMany;
    console.log(
      `  ours, MB during ${requests} more requests: ${residentMb.map((each) => each.toFixed(0)).join(', ')}`,
    );
  }
  progress('the demonstration');
  const demonstration = await counter(FEW_ROUNDS);
  progress('');
  printCounter(demonstration);
  const machine = {
    cpu: cpus()[0].model,
    cores: cpus().length,
    node: process.version,
    date: new Date().toISOString(),
  };
  const settings = { rounds, seconds, notes };
  writeFileSync(
    join(values.out, 'bench.json'),
    `${JSON.stringify({ machine, settings, results, memory, afterMany, starts, demonstration }, null, 1)}\n`,
  );
  writeFileSync(join(values.out, 'bench.svg'), chart(results));
  if (names.includes('ours')) console.log(`\n${ratioTable(results)}`);
} finally {
  for (const { stop } of running.values()) await stop();
  rmSync(folder, { recursive: true, force: true });
}

function tell(work, connections, rows) {
  const ours = rows.find(({ server }) => server === 'ours');
  console.log(`\n${work}, ${connections} connection${connections === 1 ? '' : 's'}`);
  const head = ['requests/s', 'spread %', 'p50 ms', 'p99 ms', 'CPU us', 'quartile'];
  const ratios = ours ? ['rate', 'CPU'] : [];
  console.log(
    `  ${' '.repeat(9)} ${[...head, ...ratios].map((each) => each.padStart(10)).join('')}`,
  );
  for (const { server, rate, p50, p99, cpuUs } of rows) {
    const figures = [
      cell(median(rate)),
      cell(100 * spread(rate)),
      cell(median(p50), 2),
      cell(median(p99), 2),
      cell(least(cpuUs), 1),
      cell(quantile(cpuUs, 0.25), 1),
    ];
    if (ours) {
      figures.push(cell(median(ours.rate) / median(rate), 2));
      figures.push(cell(least(cpuUs) / least(ours.cpuUs), 2));
    }
    console.log(`  ${server.padEnd(9)}  ${figures.join(' ')}`);
  }
}

/** Samples the memory of the service, in MB, during a million more requests. */
function manyRequests(server) {
  const residentMb = [];
  let requests = 0;
  while (requests < MANY_REQUESTS) {
    progress(`${requests} of ${MANY_REQUESTS} requests`);
    requests += drive(server.url, 'mix', { connections: 64, seconds: 5, notes }).requests;
    residentMb.push(server.residentMb());
  }
  progress('');
  return { requests, residentMb };
}

/**
 * Measures the memory of each server, in MB, after the same number of requests. In a run by time, a
 * fast server would store more notes.
 */
async function measureMemory() {
  const residentMb = {};
  for (const name of names) {
    progress(`memory: ${name}`);
    const server = await start((port) => SERVERS[name](port, join(folder, `${name}-memory.db`)));
    running.set(name, server);
    if (name !== 'bare') await preload(server.url, notes);
    for (const work of works) {
      for (let requests = 0; requests < SAME_REQUESTS; ) {
        requests += drive(server.url, work, { connections: 64, seconds: 1, notes }).requests;
      }
    }
    residentMb[name] = server.residentMb();
    running.delete(name);
    await server.stop();
  }
  progress('');
  return residentMb;
}

/** Measures the milliseconds from process start to first answer: medians of alternating rounds. */
async function measureStarts() {
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < FEW_ROUNDS; round += 1) {
    for (const name of names) {
      progress(`start ${round + 1}/${FEW_ROUNDS}: ${name}`);
      const server = await start((port) => SERVERS[name](port, join(folder, `${name}.db`)));
      times[name].push(server.startMs);
      await server.stop();
    }
  }
  progress('');
  return {
    ...Object.fromEntries(names.map((name) => [name, median(times[name])])),
    'empty node': emptyNodeMs(),
  };
}

function tellServers(memory, starts) {
  console.log('\n           resident MB   start ms');
  for (const name of names)
    console.log(`  ${name.padEnd(9)} ${cell(memory[name])}  ${cell(starts[name])}`);
  console.log(`  empty node           ${cell(starts['empty node'])}`);
}
