// Measures speed as the data grows, compared with Fastify: pages at the beginning, in the middle
// and at the end, single reads, new notes, and a note with 100,000 comments. Rounds alternate. Run
// `npm ci` first.
//   node test/bench/growth.mjs [--sizes 10000,100000,1000000] [--rounds 5] [--seconds 2]
// With --finding, only measures pages, filters and searches among that many notes:
//   node test/bench/growth.mjs --finding 1000000
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './figures.mjs';
import { drive, installPeers, SERVERS, start } from './servers.mjs';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000,1000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    finding: { type: 'string' },
  },
});
const [rounds, seconds] = [values.rounds, values.seconds].map(Number);
const COMMENTS = 100_000;
const WORKS = ['first', 'middle', 'last', 'get', 'post'];
const CONNECTIONS = [64, 1];

const fill = (file, count, table) =>
  execFileSync(process.execPath, [
    fileURLToPath(new URL('peers/fill.mjs', import.meta.url)),
    file,
    String(count),
    table,
  ]);

/** Starts a server on a file with that many notes. */
async function filled(name, file, notes, comments = 0) {
  const command = (port) => SERVERS[name](port, file);
  // The server creates its own tables.
  await (await start(command)).stop();
  fill(file, notes, 'notes');
  if (comments > 0) fill(file, comments, 'comments');
  return start(command);
}

async function compare(servers, works, notes) {
  for (const work of works) {
    for (const connections of CONNECTIONS) {
      const rows = Object.entries(servers).map(([name, { url }]) => ({
        name,
        url,
        rate: [],
        p50: [],
      }));
      for (let round = 0; round < rounds; round += 1) {
        for (const { url, rate, p50 } of rows) {
          // Let an overloaded server finish the requests of the previous round.
          await (await fetch(`${url}/notes/1`)).text();
          const measured = drive(url, work, { connections, seconds, notes });
          rate.push(measured.requests / measured.seconds);
          p50.push(measured.p50);
        }
      }
      const cells = rows.map(
        ({ name, rate, p50 }) =>
          `${name} ${median(rate).toFixed(0).padStart(7)}/s p50 ${median(p50).toFixed(2).padStart(7)} ms`,
      );
      const [ours, other] = rows.map(({ rate }) => median(rate));
      const ratio = other ? `  ratio ${(ours / other).toFixed(2)}` : '';
      console.log(
        `  ${work.padEnd(14)} ${String(connections).padStart(3)} connections  ${cells.join('  ')}${ratio}`,
      );
    }
  }
}

installPeers();
if (values.finding) {
  await (await import('./finding.mjs')).measureFinding(Number(values.finding));
  process.exit();
}
const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
try {
  for (const notes of values.sizes.split(',').map(Number)) {
    console.log(`${notes} notes`);
    const servers = {};
    for (const name of ['ours', 'fastify'])
      servers[name] = await filled(name, join(folder, `${name}-${notes}.db`), notes);
    await compare(servers, WORKS, notes);
    for (const { stop } of Object.values(servers)) await stop();
  }
  console.log(`a note with ${COMMENTS} comments`);
  const ours = await filled('ours', join(folder, 'comments.db'), 1, COMMENTS);
  await compare({ ours }, ['comments_first', 'comments_last'], COMMENTS);
  await ours.stop();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
