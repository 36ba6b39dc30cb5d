// The generator of load.mjs, a process of its own:
//   node generator.mjs URL WORK CONNECTIONS SECONDS NOTES RATE
// Prints a line of JSON: the ascending `times` in ms of answered and of refused requests and of
// concurrent health checks, the counts by `statuses`, and how many requests were `sent` and `lost`.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [url, work, ...numbers] = process.argv.slice(2);
const [connections, seconds, notes, rate] = numbers.map(Number);

const TITLE = 'A title of usual length';
const TEXT = 'A body that is somewhat longer, as the bodies of notes tend to be.';
const random = (most) => 1 + Math.floor(Math.random() * most);
const get = (path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const write = (method, path, record, more = '') => {
  const body = JSON.stringify(record);
  const headers = `${more}content-type: application/json\r\ncontent-length: ${body.length}`;
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n\r\n${body}`;
};
const two = () => [`tag ${random(20)}`, `tag ${20 + random(20)}`];
const CREATED = { created_at: '2020-01-01T00:00:00Z' };

/** The kinds of work, as in work.lua: each returns the next request. */
const WORKS = {
  get: () => get(`/notes/${random(notes)}`),
  page: () => get(`/notes?offset=${random(notes - 20)}`),
  post: () => write('POST', '/notes', { title: TITLE, body: TEXT }),
  put: () => {
    const body = `${TEXT} ${random(1e9)}`;
    return write('PUT', `/notes/${random(notes)}`, { title: TITLE, body });
  },
  'post-tags': () => write('POST', '/notes', { title: TITLE, body: TEXT, tags: two() }),
  'post-key': () => {
    const key = `idempotency-key: "${random(1e15)}"\r\n`;
    return write('POST', '/notes', { title: TITLE, body: TEXT }, key);
  },
  'post-times': () => write('POST', '/notes', { title: TITLE, body: TEXT, ...CREATED }),
  'put-name': () => write('PUT', `/named/new-${random(1e15)}`, { title: TITLE, body: TEXT }),
  'put-tags': () => {
    const body = `${TEXT} ${random(1e9)}`;
    return write('PUT', `/notes/${random(notes)}`, { title: TITLE, body, tags: two() });
  },
  'add-tags': () => write('PATCH', `/notes/${random(notes)}`, { add_tags: two() }),
  rename: () => write('PATCH', `/notes/${random(notes)}`, { name: `new-${random(1e15)}` }),
  'append-each': () => write('POST', `/notes/${random(notes)}/append`, { text: 'a line' }),
  'edit-each': () =>
    write('POST', `/notes/${random(notes)}/edit`, { old_text: 'A body', new_text: 'A body' }),
  /** An append to note 1, which is made short again once in `notes` requests. */
  append: () =>
    sent % notes === 1
      ? write('PUT', '/notes/1', { title: TITLE, body: TEXT })
      : write('POST', '/notes/1/append', { text: TEXT }),
  /** A run with as many workers as there are `notes`. */
  count: () => write('POST', '/counter/increment', { workers: notes, count: 1_000 }),
  mix: () => (random(10) === 1 ? WORKS.put() : WORKS.get()),
};
const next = WORKS[work] ?? (() => get(work));

const times = { ok: [], shed: [], health: [] };
const statuses = {};
const idle = [];
let [sent, lost, isOver] = [0, 0, false];

async function open() {
  const socket = connect(new URL(url).port, '127.0.0.1');
  const connection = { socket, since: 0, text: '' };
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('data', (data) => receive(connection, data));
  socket.on('error', () => {});
  socket.on('close', () => {
    if (connection.since > 0) count(connection, 'broken');
    const index = idle.indexOf(connection);
    if (index !== -1) idle.splice(index, 1);
  });
  await once(socket, 'connect');
  idle.push(connection);
}

function ask(connection) {
  connection.since = performance.now();
  sent += 1;
  connection.socket.write(next());
}

function receive(connection, data) {
  connection.text += data;
  if (!isComplete(connection.text)) return;
  count(connection, connection.text.slice(9, 12));
  connection.text = '';
  if (isOver) return;
  if (rate === 0) ask(connection);
  else idle.push(connection);
}

function isComplete(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const [, length] = /^content-length: (\d+)/im.exec(text.slice(0, head)) ?? [];
  return length ? text.length >= head + 4 + Number(length) : text.endsWith('\r\n0\r\n\r\n');
}

function count(connection, status) {
  const ms = performance.now() - connection.since;
  connection.since = 0;
  if (isOver) return;
  if (status === '503') times.shed.push(ms);
  else if (status.startsWith('2')) times.ok.push(ms);
  statuses[status] = (statuses[status] ?? 0) + 1;
}

async function watchHealth() {
  while (!isOver) {
    const since = performance.now();
    const answered = await fetch(`${url}/health`).then(
      async (answer) => (await answer.text()) && answer.status,
      () => 'broken',
    );
    if (isOver) return;
    times.health.push(performance.now() - since);
    statuses[`health ${answered}`] = (statuses[`health ${answered}`] ?? 0) + 1;
    await sleep(20);
  }
}

async function sendAtRate(started) {
  for (; !isOver; await sleep(1)) {
    const owed = Math.floor(((performance.now() - started) / 1_000) * rate) - sent - lost;
    for (let index = 0; index < owed; index += 1) {
      const connection = idle.shift();
      if (connection) ask(connection);
      else lost += 1;
    }
  }
}

// Connect before the measurement starts, and gradually: a storm of connections is not measured.
for (let count = 0; count < connections; count += 1) await open();
const started = performance.now();
if (rate > 0) {
  watchHealth();
  sendAtRate(started);
} else for (const connection of idle.splice(0)) ask(connection);
await sleep(seconds * 1_000);
isOver = true;
const took = (performance.now() - started) / 1_000;
for (const list of Object.values(times)) list.sort((one, other) => one - other);
process.stdout.write(JSON.stringify({ times, statuses, sent, lost, seconds: took }), () =>
  process.exit(),
);
