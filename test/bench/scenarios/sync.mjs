// Measures the command `sync`: a folder that is sent, one that is filled, runs with nothing to do, and
// how long a change takes to the other side while the command follows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_CORES, SERVERS, TREE, withServers } from '../servers.mjs';

export const about = 'a folder and a service that are kept in step, with more and more files';

export const defaults = { files: [2_000, 20_000], runs: 5, changes: 10, characters: 2_300 };

const COMMAND = [join(TREE, 'bin/notes-server'), 'sync'];

/** Prints the largest memory of the process at its end. */
const PRELOAD = `data:text/javascript,process.on('exit', () =>
  process.stderr.write(\`\${process.resourceUsage().maxRSS} KiB\`));`;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Runs Node.js with these arguments; resolves with its milliseconds and the most memory it had. */
async function timed(...args) {
  const startMs = performance.now();
  const options = { stdio: ['ignore', 'ignore', 'pipe'] };
  const child = spawn(process.execPath, ['--import', PRELOAD, ...args], options);
  let printed = '';
  child.stderr.on('data', (part) => {
    printed += part;
  });
  const [status] = await once(child, 'close');
  const [, kib] = /(\d+) KiB$/.exec(printed) ?? [];
  if (status !== 0 || kib === undefined) throw new Error(printed);
  return { ms: performance.now() - startMs, mib: Number(kib) / 1_024 };
}

/** Fills a folder, with a hundred files in each of its folders. */
function fill(folder, count, characters) {
  for (let n = 0; n < count; n += 1) {
    const path = join(folder, `${Math.floor(n / 100)}`, `${n}.md`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `# Note ${n}\n\n${'Some words of a text. '.repeat(characters / 22)}`);
  }
}

/** Returns the text of a file; while it is replaced, there is none for a moment. */
function textAt(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Resolves with the number of requests that the service has answered. */
async function requestsAt(url) {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const counts = metrics.matchAll(/^http_server_request_duration_seconds_count.* (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Resolves with the milliseconds until `hasArrived` after `change`. */
async function delayOf(change, hasArrived) {
  const startMs = performance.now();
  await change();
  while (!(await hasArrived())) await sleep(2);
  return performance.now() - startMs;
}

/** Resolves with the medians of the delays in both directions while the command follows. */
async function follow(folder, url, changes) {
  const child = spawn(process.execPath, [...COMMAND, folder, url, '--follow'], { stdio: 'ignore' });
  const file = join(folder, '0', '0.md');
  const note = `${url}/named/0/0.md`;
  const read = async () => (await (await fetch(note)).json()).body;
  const send = (body) => fetch(note, { method: 'PATCH', headers, body: JSON.stringify({ body }) });
  const headers = { 'content-type': 'application/json' };
  const [up, down] = [[], []];
  try {
    // The first one waits until the command has started.
    for (let n = 0; n <= changes; n += 1) {
      const [sent, got] = [`sent ${n}`, `got ${n}`];
      up.push(
        await delayOf(
          () => writeFileSync(file, sent),
          async () => (await read()) === sent,
        ),
      );
      await sleep(1_000);
      down.push(
        await delayOf(
          () => send(got),
          () => textAt(file) === got,
        ),
      );
      await sleep(1_000);
    }
  } finally {
    child.kill();
    await once(child, 'exit');
  }
  return [up, down].map((delays) => Math.round(median(delays.slice(1))));
}

export async function run({ files, runs, changes, characters }) {
  const starts = [];
  for (let n = 0; n < runs; n += 1) starts.push((await timed('--eval', '0')).ms);
  const startMs = median(starts);
  const show = (what, { ms, mib }) =>
    console.log(`  ${what}: ${Math.round(ms - startMs)} ms, ${Math.round(mib)} MiB`);
  for (const count of files)
    await withServers({ ours: SERVERS.ours }, { cores: ALL_CORES }, async ([{ url }]) => {
      const root = mkdtempSync(join(tmpdir(), 'notes-bench-'));
      const [one, other] = ['one', 'other'].map((name) => join(root, name));
      const sync = (folder) => timed(...COMMAND, folder, url);
      try {
        console.log(`${count} files, without the ${Math.round(startMs)} ms of an empty process`);
        fill(one, count, characters);
        mkdirSync(other);
        show('first push', await sync(one));
        show('first pull', await sync(other));
        const before = await requestsAt(url);
        const idle = [];
        for (let n = 0; n < runs; n += 1) idle.push(await sync(one));
        const requests = ((await requestsAt(url)) - before - 1) / runs;
        const [ms, mib] = ['ms', 'mib'].map((member) => median(idle.map((each) => each[member])));
        show(`nothing to do, ${requests} requests`, { ms, mib });
        const [up, down] = await follow(one, url, changes);
        console.log(`  --follow: ${up} ms to the service, ${down} ms to the folder`);
      } finally {
        rmSync(root, { recursive: true });
      }
    });
}
