// A rough comparison: ours, Fastify with better-sqlite3, and bare node:http, in alternating rounds, each server on the
// first core and the load (Debian's wrk) on the second. Run it after `npm ci` in test/bench/peers:
//   node test/bench/rough.mjs [rounds] [seconds]
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [rounds = '5', seconds = '3'] = process.argv.slice(2);
const CONNECTIONS = '64';
const PRELOADED = 1_000;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));

const SERVERS = {
  ours: {
    port: 4001,
    args: [here('../../bin/notes-server'), '--port', '4001', '--db', join(folder, 'ours.db'), '--log-level', 'error'],
  },
  fastify: { port: 4002, args: [here('peers/fastify.mjs'), '4002', join(folder, 'fastify.db')] },
  bare: { port: 4003, args: [here('peers/bare.mjs'), '4003'] },
};
const names = Object.keys(SERVERS);

async function preload(port) {
  const note = {
    title: 'A title of usual length',
    body: 'A body that is somewhat longer, as the bodies of notes tend to be.',
  };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(note) };
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const up = await fetch(`http://127.0.0.1:${port}/notes`, init).catch(() => undefined);
    await up?.text();
    if (up) break;
    await sleep(50);
  }
  for (let count = 1; count < PRELOADED; count += 1) await (await fetch(`http://127.0.0.1:${port}/notes`, init)).text();
}

function load(work, port) {
  const args = ['-c', '1', 'wrk', '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', here(`work/${work}.lua`)];
  const report = execFileSync('taskset', [...args, `http://127.0.0.1:${port}`]).toString();
  if (/Non-2xx|Socket errors/.test(report)) throw new Error(report);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(report)[1]);
}

const median = (figures) => figures.toSorted((one, other) => one - other)[figures.length >> 1];

const processes = names.map((name) =>
  spawn('taskset', ['-c', '0', process.execPath, ...SERVERS[name].args], { stdio: ['ignore', 'ignore', 'inherit'] }),
);
try {
  for (const name of names) await preload(SERVERS[name].port);
  console.log('requests/s (median)       ours   fastify      bare   ours/fastify   ours/bare');
  for (const work of ['get', 'page', 'post', 'put']) {
    const figures = Object.fromEntries(names.map((name) => [name, []]));
    for (let round = 0; round < Number(rounds); round += 1) {
      for (const name of names) figures[name].push(load(work, SERVERS[name].port));
    }
    const [ours, fastify, bare] = names.map((name) => median(figures[name]));
    const cells = [ours, fastify, bare].map((figure) => figure.toFixed(0).padStart(9)).join(' ');
    const ratios = [ours / fastify, ours / bare].map((ratio) => ratio.toFixed(2).padStart(13)).join('');
    console.log(`${work.padEnd(20)} ${cells} ${ratios}`);
  }
} finally {
  for (const each of processes) each.kill();
  rmSync(folder, { recursive: true, force: true });
}
