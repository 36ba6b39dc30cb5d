// Compares two trees of this project, or one tree with different options, on a machine with other
// load: many short alternating rounds, the median of the ratios of the pairs, and the least CPU time
// per request of each, in us.
//   node test/bench/compare.mjs TREE TREE [--works get,page,post,put,mix] [--rounds 15] [--seconds 1] [--connections 64]
//     [--first=--no-metrics] [--second='--log-level info' 2>FILE]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { least, quantile } from './figures.mjs';
import { drive, preload, start, warmUp } from './servers.mjs';

const { values, positionals: trees } = parseArgs({
  allowPositionals: true,
  options: {
    works: { type: 'string', default: 'get,page,post,put,mix' },
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '64' },
    first: { type: 'string', default: '' },
    second: { type: 'string', default: '' },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
);
const NOTES = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
const servers = [];
try {
  for (const [index, tree] of trees.entries()) {
    const launcher = resolve(tree, 'bin/notes-server');
    const file = join(folder, `${index}.db`);
    const flags = [
      '--log-level',
      'silent',
      ...[values.first, values.second][index].split(' ').filter(Boolean),
    ];
    servers.push(
      await start((port) => [process.execPath, launcher, '--port', port, '--db', file, ...flags]),
    );
    await preload(servers[index].url, NOTES);
  }
  for (const work of values.works.split(',')) {
    warmUp(servers, work, NOTES);
    const ratios = { rate: [], cpu: [], p99: [] };
    const cpuUs = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const [first, second] = servers.map((server, index) => {
        const before = server.cpu();
        const measured = drive(server.url, work, { connections, seconds, notes: NOTES });
        const cpu = (1e6 * (server.cpu() - before)) / measured.requests;
        cpuUs[index].push(cpu);
        return { rate: measured.requests / measured.seconds, cpu, p99: measured.p99 };
      });
      for (const [name, each] of Object.entries(ratios)) each.push(second[name] / first[name]);
    }
    const shown = Object.entries(ratios).map(([name, each]) => {
      const [low, middle, high] = [0.25, 0.5, 0.75].map((share) =>
        quantile(each, share).toFixed(3),
      );
      return `${name} ${middle} (${low} to ${high})`;
    });
    const [first, second] = cpuUs.map(least);
    shown.push(
      `least cpu ${(second / first).toFixed(3)} (${second.toFixed(1)} / ${first.toFixed(1)})`,
    );
    console.log(`${work.padEnd(6)} second / first: ${shown.join('   ')}`);
  }
} finally {
  for (const { stop } of servers) await stop();
  rmSync(folder, { recursive: true, force: true });
}
