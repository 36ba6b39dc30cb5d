// Measures the p99 of GET over 64 connections alone, beside 1,000 idle streams of changes, and
// beside as many that get some changes per second. Rounds alternate. Run `npm ci` first.
//   node test/bench/streams.mjs [--streams 1000] [--rounds 10] [--seconds 2] [--writes 1,10]
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './figures.mjs';
import { run } from './load.mjs';
import { drive, preload, SERVERS, start, warmUp } from './servers.mjs';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    writes: { type: 'string', default: '1,10' },
  },
});
const [streams, rounds, seconds] = [values.streams, values.rounds, values.seconds].map(Number);
const NOTES = 1_000;

async function openStream(url) {
  const sent = request(`${url}/changes`, {
    headers: { accept: 'text/event-stream' },
    agent: false,
  });
  sent.end();
  const [response] = await once(sent, 'response');
  if (response.statusCode !== 200) throw new Error(`a stream was refused: ${response.statusCode}`);
  response.on('error', () => {}).resume();
}

const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
const servers = [];
try {
  for (const name of ['alone', 'beside'])
    servers.push(await start((port) => SERVERS.ours(port, join(folder, `${name}.db`))));
  for (const { url } of servers) await preload(url, NOTES);
  warmUp(servers, 'get', NOTES);
  const [alone, beside] = servers;
  const beforeMb = beside.residentMb();
  for (let count = 0; count < streams; count += 1) await openStream(beside.url);
  console.log(`${streams} streams: ${(beside.residentMb() - beforeMb).toFixed(0)} MB`);
  for (const rate of [0, ...values.writes.split(',').map(Number)]) {
    const figures = { alone: [], beside: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, { url }] of Object.entries({ alone, beside })) {
        const writing = { port: new URL(url).port, work: 'post', rate, seconds, connections: 1 };
        const writes = rate > 0 ? run(writing) : undefined;
        figures[name].push(drive(url, 'get', { connections: 64, seconds, notes: NOTES }).p99);
        await writes;
      }
    }
    const [one, other] = [figures.alone, figures.beside].map(median);
    console.log(
      `${rate} changes/s: p99 of GET ${one.toFixed(2)} ms alone, ${other.toFixed(2)} ms beside, ratio ${(other / one).toFixed(2)}`,
    );
  }
} finally {
  for (const { stop } of servers) await stop();
  rmSync(folder, { recursive: true, force: true });
}
