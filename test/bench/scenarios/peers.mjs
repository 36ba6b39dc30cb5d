// Compares the speed and the memory of the service with those of other servers that do the same,
// and writes bench.json and bench.svg. It takes about 20 minutes.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { chart } from '../chart.mjs';
import { ratioTable } from '../figures.mjs';
import { drive, warmUp } from '../load.mjs';
import { joinRows, measure, print, progress } from '../rounds.mjs';
import { here, installPeers, SERVERS, TREE, withServers, withStarts } from '../servers.mjs';

export const about = 'other servers that do the same; writes bench.json and bench.svg';

export const defaults = {
  servers: Object.keys(SERVERS),
  works: ['get', 'page', 'post', 'put', 'mix'],
  connections: [1, 8, 64, 256],
  starts: 2,
  /** Of each start. */
  rounds: 5,
  seconds: 0.4,
  notes: 10_000,
  out: here('.'),
};

/** The number of requests of each kind of work before the memory of a server is measured. */
const SAME_REQUESTS = 20_000;

export async function run({ servers: names, works, connections, out, ...settings }) {
  // A wrong path fails at once, not after all rounds.
  mkdirSync(out, { recursive: true });
  installPeers();
  const { notes } = settings;
  const commands = Object.fromEntries(names.map((name) => [name, SERVERS[name]]));
  const started = await withStarts(settings.starts, commands, { notes }, async (servers) => {
    const rows = [];
    for (const work of works) {
      progress(`${work}: warming up`);
      await warmUp(servers, work, notes);
      for (const count of connections) {
        rows.push(await measure(servers, work, { ...settings, connections: count }));
      }
    }
    return rows.flat();
  });
  const results = joinRows(started);
  for (const work of works)
    for (const count of connections)
      print(results.filter((row) => row.work === work && row.connections === count));
  const memory = await measureMemory(commands, works, notes);
  console.log('\nresident MB:', memory);
  const machine = { cpu: cpus()[0].model, cores: cpus().length, node: process.version };
  const git = ['-C', TREE, 'rev-parse', '--short', 'HEAD'];
  const commit = execFileSync('git', git, { encoding: 'utf8' }).trim();
  Object.assign(machine, { date: new Date().toISOString(), commit });
  const all = { machine, settings, results, memory };
  writeFileSync(join(out, 'bench.json'), `${JSON.stringify(all, null, 1)}\n`);
  writeFileSync(join(out, 'bench.svg'), chart(results));
  if (names.includes('ours')) console.log(`\n${ratioTable(results)}`);
  console.log(`\n${machine.cpu}, Node.js ${machine.node}, commit ${commit}, ${machine.date}`);
}

/**
 * Measures the memory of each server, in MB, after the same number of requests. In a run by time, a
 * fast server would store more notes.
 */
async function measureMemory(commands, works, notes) {
  const residentMb = {};
  for (const [name, command] of Object.entries(commands)) {
    progress(`memory: ${name}`);
    await withServers({ [name]: command }, { notes }, async ([server]) => {
      for (const work of works) {
        const load = { connections: 64, seconds: 1, notes };
        for (let requests = 0; requests < SAME_REQUESTS; )
          requests += (await drive(server, work, load)).requests;
      }
      residentMb[name] = server.residentMb();
    });
  }
  progress('');
  return residentMb;
}
