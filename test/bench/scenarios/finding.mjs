// Measures how fast notes are found among many: pages in each order, with and without tags, names
// and times, and searches, each by lone requests to a service without memory. Half of the notes are
// Japanese. Three tenths have a name, and a tenth no tag. Beside some pages stands what the same
// takes in plain SQL, without the way through HTTP.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import sqlite3 from 'sqlite3';
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

/** The tag of the 5,000 oldest notes, and the first one, which three tenths have. */
const [OLD, FREQUENT] = [2, 1];

/** Returns a note; a tenth of them contain `common`. */
function noteOf(id, count) {
  const [title, text] =
    id % 2
      ? [name(), Array.from({ length: 25 }, () => `${name()}の`).join('')]
      : [word(), Array.from({ length: 30 }, word).join(' ')];
  const common = id % 10 === 0 ? ' common' : '';
  const others = id % 10 === 9 ? [] : [3 + ((id * 7_919) % (TAGS - 2))];
  const tag_ids = [
    ...(id % 10 < 3 ? [FREQUENT] : []),
    ...(id <= count / 200 ? [OLD] : []),
    ...others,
  ];
  return { title, body: `${text}${common}${id % (count / 10) === 2 ? ' raritas' : ''}`, tag_ids };
}

/** Gives names to three tenths of the notes, in a thousand folders and a large one. */
const NAME = `
  INSERT INTO note_names (note_id, name)
  SELECT id, iif(id % 10 = 1, 'Large', 'Small/' || id % 1000) || '/' || (id * 7919 % 1000003)
  FROM notes WHERE id % 10 IN (1, 4, 7)`;

/** Some queries, and the same in SQL as somebody would write it. */
const plainOf = (count, middle) => [
  [`named=true&offset=${count * 0.15}`, namedSql('note_id', `OFFSET ${count * 0.15}`)],
  [`tag_id=${OLD}&order=-updated`, taggedSql(OLD, 'ORDER BY number DESC')],
  [
    `tag_id=${FREQUENT}&created_after=${middle}`,
    `
    SELECT sum(count) FROM note_tag_blocks WHERE tag_id = ${FREQUENT} AND block > ${count >> 11}`,
  ],
  ['untagged=true', 'SELECT count(DISTINCT note_id) FROM note_tags'],
  [`not_tag_id=${FREQUENT}`, `SELECT count(*) FROM notes ${without(FREQUENT)}`],
  [`not_tag_id=${FREQUENT}&order=-updated`, `SELECT count(*) FROM notes ${without(FREQUENT)}`],
  [
    `tag_id=${OLD}&not_tag_id=${FREQUENT}`,
    `
    SELECT count(*) FROM (${taggedSql(OLD, '', '')}) AS notes ${without(FREQUENT)}`,
  ],
  ['folder=Large', folderSql('Large', 'note_id')],
  ['folder=Large&order=-updated', folderSql('Large', 'note_id')],
  ['folder=Small/7&order=name', folderSql('Small/7', 'name')],
  ['order=name', namedSql('name', '')],
  [`order=-name&offset=${count * 0.15}`, namedSql('name DESC', `OFFSET ${count * 0.15}`)],
];
const without = (tag) =>
  `WHERE NOT EXISTS (SELECT 1 FROM note_tags WHERE note_id = notes.id AND tag_id = ${tag})`;
const taggedSql = (tag, order, limit = 'LIMIT 20') => `
  SELECT notes.* FROM note_tags JOIN notes ON id = note_id WHERE tag_id = ${tag} ${order} ${limit}`;
const namedSql = (order, offset) => `
  SELECT notes.* FROM (SELECT note_id, name FROM note_names ORDER BY ${order} LIMIT 20 ${offset})
  JOIN notes ON id = note_id`;
const folderSql = (folder, order) => `
  SELECT note_id, (
    SELECT count(*) FROM note_names WHERE name > '${folder}/' AND name < '${folder}0')
  FROM note_names WHERE name > '${folder}/' AND name < '${folder}0' ORDER BY ${order} LIMIT 20`;

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

/** Resolves with the ms of each of `rounds` calls, one after the other. */
async function timed(rounds, call) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await call();
    times.push(performance.now() - started);
  }
  return times;
}

async function get(url) {
  const status = await statusOf(url);
  if (status !== 200) throw new Error(`${url}: status ${status}`);
}

/** Opens the file; resolves with a function that runs a statement. */
async function openPlain(file) {
  const database = await new Promise((resolve, reject) => {
    const opened = new sqlite3.Database(file, (error) => (error ? reject(error) : resolve(opened)));
  });
  return promisify(database.all.bind(database));
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
    const plain = await openPlain(file);
    await plain(NAME);
    const [{ time }] = await plain(
      `SELECT strftime('%FT%TZ', created_at / 1000, 'unixepoch') AS time
       FROM notes WHERE id = ${notes / 2}`,
    );
    const all = [...pagesOf(notes).map((query) => [query]), ...plainOf(notes, time)];
    for (const [query, sql] of all) {
      const times = await timed(rounds, () => get(`${url}/notes?${query}`));
      const [best, middle] = [least(times), median(times)].map((ms) => ms.toFixed(2));
      const own = sql
        ? `  plain SQL ${median(await timed(rounds, () => plain(sql))).toFixed(2)} ms`
        : '';
      console.log(`  ${query.padEnd(44)} least ${best} ms  median ${middle} ms${own}`);
    }
  });
}
