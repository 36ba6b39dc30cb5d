// Measures how fast notes are found among many: pages in each order, with and without a tag, and
// searches, each by lone requests to a service without memory. Half of the notes are Japanese.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { least, median } from '../figures.mjs';
import { ALL_CORES as cores, SERVERS, statusOf, withServers } from '../servers.mjs';

export const about = 'pages in each order, filters and searches among many notes';

export const defaults = { notes: 1_000_000, rounds: 15 };

const TAGS = 10_000;
/** As many lines as a request may have. */
const LINES = 500;

let seed = 1;
/** Returns a number below `below`, small more often than large, the same in each run. */
function random(below) {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) ** 2 * below);
}
const word = () => random(20_000).toString(36).replaceAll(/\d/g, 'e');
const name = () => String.fromCharCode(0x4e00 + random(3_000), 0x4e00 + random(2_000));

/** Returns a note; a tenth of them contain `common`, and three tenths have the first tag. */
function noteOf(id, count) {
  const [title, text] =
    id % 2
      ? [name(), Array.from({ length: 25 }, () => `${name()}の`).join('')]
      : [word(), Array.from({ length: 30 }, word).join(' ')];
  const common = id % 10 === 0 ? ' common' : '';
  const tag_ids = [...(id % 10 < 3 ? [1] : []), 2 + ((id * 7_919) % (TAGS - 1))];
  return { title, body: `${text}${common}${id % (count / 10) === 2 ? ' raritas' : ''}`, tag_ids };
}

/** Creates `count` records of a list in lines. */
async function fill(url, count, recordOf) {
  const headers = { 'content-type': 'application/x-ndjson' };
  for (let first = 1; first <= count; first += LINES) {
    const records = Array.from({ length: LINES }, (_, index) => recordOf(first + index));
    const body = records.map((record) => JSON.stringify(record)).join('\n');
    const status = await statusOf(url, { method: 'POST', headers, body });
    if (status !== 201) throw new Error(`${url}: status ${status}`);
  }
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

/** Resolves with the ms of each of `rounds` requests, one after the other. */
async function timed(url, rounds) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    const status = await statusOf(url);
    if (status !== 200) throw new Error(`${url}: status ${status}`);
    times.push(performance.now() - started);
  }
  return times;
}

export async function run({ notes, rounds }) {
  await withServers({ uncached: SERVERS.uncached }, { cores }, async ([{ url, file }]) => {
    await fill(`${url}/tags`, TAGS, (id) => ({ name: `tag ${id}` }));
    await fill(`${url}/notes`, notes, (id) => noteOf(id, notes));
    const began = performance.now();
    while ((await statusOf(`${url}/notes?q=raritas`)) !== 200) await sleep(500);
    const seconds = (performance.now() - began) / 1_000;
    const mb = (statSync(file).size / 1_048_576).toFixed(0);
    console.log(`${notes} notes, ${mb} MB: searched ${seconds.toFixed(0)} s after the last`);
    for (const query of pagesOf(notes)) {
      const times = await timed(`${url}/notes?${query}`, rounds);
      const [best, middle] = [least(times), median(times)].map((ms) => ms.toFixed(2));
      console.log(`  ${query.padEnd(44)} least ${best} ms  median ${middle} ms`);
    }
  });
}
