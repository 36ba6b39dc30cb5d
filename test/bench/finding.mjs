// Measures how fast notes are found among many: pages in each order, with and without a tag, and
// searches, each by lone requests to a service without memory; then GETs while searches run. Half
// of the notes are Japanese.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './figures.mjs';
import { percentile, run } from './load.mjs';
import Database from './peers/node_modules/better-sqlite3/lib/index.js';
import { SERVERS, start } from './servers.mjs';

const TAGS = 10_000;
const ROUNDS = 15;

/** Fills the tables that the service has created: a tenth of the notes contain `common`. */
function fill(file, count) {
  const database = new Database(file);
  let seed = 1;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) ** 2 * below);
  };
  const word = () => random(20_000).toString(36).replaceAll(/\d/g, 'e');
  const name = () => String.fromCharCode(0x4e00 + random(3_000), 0x4e00 + random(2_000));
  const english = () => Array.from({ length: 30 }, word).join(' ');
  const japanese = () => Array.from({ length: 25 }, () => `${name()}の`).join('');
  const insert = database.prepare('INSERT INTO notes (title, body) VALUES (?, ?)');
  const link = database.prepare('INSERT OR IGNORE INTO note_tags VALUES (?, ?)');
  const inTransaction = database.transaction((ids) => {
    for (const id of ids) {
      const [title, text] = id % 2 ? [name(), japanese()] : [word(), english()];
      const common = id % 10 === 0 ? ' common' : '';
      insert.run(title, `${text}${common}${id % (count / 10) === 2 ? ' raritas' : ''}`);
      if (id % 10 < 3) link.run(id, 1);
      link.run(id, 2 + ((id * 7_919) % (TAGS - 1)));
    }
  });
  const addTags = database.prepare(`WITH RECURSIVE number (n) AS (
      SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${TAGS})
    INSERT INTO tags (name) SELECT 'tag ' || n FROM number`);
  addTags.run();
  for (let first = 1; first <= count; first += 1_000)
    inTransaction(Array.from({ length: 1_000 }, (_, index) => first + index));
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** Resolves with the milliseconds of the fastest and the median request. */
async function timed(url) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    const answer = await fetch(url);
    await answer.text();
    if (!answer.ok) throw new Error(`${url}: status ${answer.status}`);
    times.push(performance.now() - started);
  }
  return [Math.min(...times), median(times)];
}

function pagesOf(count) {
  const pages = [];
  for (const [tag, notes] of [
    ['', count],
    ['&tag_id=1', count * 0.3],
  ]) {
    for (const order of ['id', '-id'])
      for (const offset of [0, notes / 2, notes - 20])
        pages.push(`order=${order}${tag}&offset=${offset}`);
    for (const order of ['id', '-id', 'updated', '-updated'])
      for (const key of ['', '&after=1000', `&after=${count / 2}`, `&before=${count / 2}`])
        pages.push(`order=${order}${tag}${key}`);
  }
  for (const word of ['raritas', 'common'])
    for (const order of ['rank', 'id']) pages.push(`q=${word}&order=${order}`);
  return pages;
}

/** Resolves with the 99th percentile in ms of 2,000 GETs of records a second. */
async function p99(url) {
  const { port } = new URL(url);
  const { times } = await run({ port, work: 'get', rate: 2_000, seconds: 5, connections: 16 });
  return percentile(times.ok, 0.99).toFixed(1);
}

/** Does as `p99` while searches follow one another; resolves with it and their number. */
async function p99Beside(url, query) {
  let isDone = false;
  let searches = 0;
  const search = async () => {
    for (; !isDone; searches += 1) await (await fetch(`${url}/notes?${query}`)).text();
  };
  const searching = search();
  const measured = await p99(url);
  isDone = true;
  await searching;
  return [measured, searches];
}

/** Measures with that many notes, and prints a line for each page. */
export async function measureFinding(count) {
  const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
  const file = join(folder, 'finding.db');
  const command = (port) => SERVERS.uncached(port, file);
  try {
    await (await start(command)).stop();
    fill(file, count);
    const before = statSync(file).size;
    const server = await start(command, '0,1');
    const { url } = server;
    const began = performance.now();
    while ((await fetch(`${url}/notes?q=raritas`)).status !== 200) await sleep(500);
    const seconds = (performance.now() - began) / 1_000;
    console.log(`${count} notes: indexed in ${seconds.toFixed(0)} s`);
    for (const query of pagesOf(count)) {
      const [least, middle] = await timed(`${url}/notes?${query}`);
      console.log(
        `  ${query.padEnd(44)} least ${least.toFixed(2)} ms  median ${middle.toFixed(2)} ms`,
      );
    }
    const alone = await p99(url);
    const [together, searches] = await p99Beside(url, 'q=common');
    console.log(`  p99 of GET: ${alone} ms alone, ${together} ms beside ${searches} searches`);
    await server.stop();
    const mb = (bytes) => (bytes / 1_048_576).toFixed(0);
    console.log(`  file: ${mb(before)} MB, with the index ${mb(statSync(file).size)} MB`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
