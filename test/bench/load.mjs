// A load generator in a process of its own; `run` starts it and resolves with its measurements. A
// closed load sends the next request of a connection after its answer, and thus finds the capacity.
// An open load sends requests at a fixed rate; a request that finds all connections busy is lost.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NOTE =
  '{"title":"A title of usual length","body":"A body that is somewhat longer, as the bodies of notes tend to be."}';
const post = (path, body, headers = '') =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
const get = (path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const random = (most) => 1 + Math.floor(Math.random() * most);

/** The kinds of work: each returns the bytes of the next request, for the notes 1 to 1,000. */
const WORKS = {
  get: () => get(`/notes/${random(1_000)}`),
  page: () => get(`/notes?limit=100&offset=${random(900)}`),
  list: () => get(`/notes?offset=${random(900)}`),
  post: () => post('/notes', NOTE),
  keyed: () => post('/notes', NOTE, `idempotency-key: ${randomUUID()}\r\n`),
  large: () => post('/notes', NOTE.padEnd(1_000_000)),
  /** Keeps the number of records constant: its writes replace existing records. */
  mixed: () => {
    const dice = random(10);
    if (dice === 1) return WORKS.page();
    if (dice > 4) return WORKS.get();
    return post(`/notes/${random(1_000)}`, NOTE.replace('longer', `longer ${random(1e9)}`)).replace(
      'POST',
      'PUT',
    );
  },
};

const THIS_TREE = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Starts the service of `tree` (default: this one) on the first core, with a new file that contains
 * the notes that the work needs. `status` reads a value from /proc/PID/status.
 */
export async function start(tree = THIS_TREE, flags = []) {
  const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
  const file = join(folder, 'notes.db');
  const args = [
    '-c',
    '0',
    process.execPath,
    join(tree, 'bin/notes-server'),
    '--port',
    '0',
    '--db',
    file,
  ];
  const server = spawn('taskset', [...args, '--log-level', 'silent', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(server.stdout, 'data');
  const port = Number(/:(\d+)\n/.exec(String(line))[1]);
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: NOTE };
  for (let count = 0; count < 1_000; count += 1)
    await (await fetch(`http://127.0.0.1:${port}/notes`, init)).text();
  return {
    port,
    file,
    pid: server.pid,
    status: (name) =>
      Number(
        new RegExp(`${name}:\\s+(\\d+)`).exec(
          readFileSync(`/proc/${server.pid}/status`, 'utf8'),
        )[1],
      ),
    async stop() {
      server.kill();
      await once(server, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Runs a load in a process on the second core. `rate` is in requests per second; undefined means a
 * closed load. Resolves with the counts by status, the latencies of answered requests and of
 * concurrent health checks in ms, ascending, and the seconds.
 */
export async function run({ port, work, rate = 0, seconds, connections }) {
  const args = [fileURLToPath(import.meta.url), port, work, rate, seconds, connections].map(String);
  const child = spawn('taskset', ['-c', '1', process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  return JSON.parse(text);
}

export const percentile = (times, share) =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

async function generate(port, work, rate, seconds, connections) {
  const times = { ok: [], shed: [], health: [] };
  const statuses = {};
  const idle = [];
  let opened = 0;
  let sent = 0;
  let lost = 0;
  let over = false;
  let started = 0;
  let end = 0;

  function open() {
    opened += 1;
    const socket = connect(port, '127.0.0.1');
    const connection = { socket, since: 0, text: '', length: -1 };
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (data) => receive(connection, data));
    socket.on('error', () => {});
    socket.on('close', () => {
      opened -= 1;
      if (connection.since > 0) count(connection, 'broken');
      const index = idle.indexOf(connection);
      if (index !== -1) idle.splice(index, 1);
    });
    idle.push(connection);
    return connection;
  }

  function ask(connection, since) {
    connection.since = since;
    sent += 1;
    connection.socket.write(WORKS[work]());
  }

  function receive(connection, data) {
    connection.text += data;
    if (connection.length < 0) {
      const head = connection.text.indexOf('\r\n\r\n');
      if (head === -1) return;
      const length = /content-length: (\d+)/i.exec(connection.text.slice(0, head))?.[1] ?? 0;
      connection.length = head + 4 + Number(length);
    }
    if (connection.text.length < connection.length) return;
    count(connection, connection.text.slice(9, 12));
    connection.text = '';
    connection.length = -1;
    if (over) return;
    if (rate === 0) ask(connection, performance.now());
    else idle.push(connection);
  }

  function count(connection, status) {
    const now = performance.now();
    const kind = status === '503' ? times.shed : status.startsWith('2') ? times.ok : undefined;
    if (!over) kind?.push(now - connection.since);
    if (!over) statuses[status] = (statuses[status] ?? 0) + 1;
    connection.since = 0;
  }

  function tick() {
    const now = performance.now();
    const owed = Math.floor(((Math.min(now, end) - started) / 1_000) * rate) - sent - lost;
    for (let index = 0; index < owed; index += 1) {
      const connection = idle.shift();
      if (connection) ask(connection, now);
      else lost += 1;
    }
    if (now < end) setTimeout(tick, 1);
    else finish();
  }

  async function watchHealth() {
    while (!over) {
      const since = performance.now();
      const answered = await fetch(`http://127.0.0.1:${port}/health`).then(
        async (answer) => (await answer.text()) && answer.status,
        () => 'broken',
      );
      if (!over) times.health.push(performance.now() - since);
      statuses[`health ${answered}`] = (statuses[`health ${answered}`] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  function finish() {
    over = true;
    for (const list of Object.values(times)) list.sort((one, other) => one - other);
    process.stdout.write(JSON.stringify({ times, statuses, sent, lost, seconds }), () =>
      process.exit(0),
    );
  }

  // Connect before the measurement starts, and gradually: a storm of connections is not measured.
  while (opened < connections) {
    const { socket } = open();
    await once(socket, 'connect');
  }
  started = performance.now();
  end = started + seconds * 1_000;
  watchHealth();
  if (rate > 0) tick();
  else {
    for (const connection of idle.splice(0)) ask(connection, started);
    setTimeout(finish, seconds * 1_000);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port, work, ...figures] = process.argv.slice(2);
  await generate(Number(port), work, ...figures.map(Number));
}
