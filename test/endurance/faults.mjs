// Proves that the tests find faults: puts one deliberate fault after the other into a copy of the
// tree, builds it without its types, and runs tests until one fails. Run it with
// `node test/endurance/faults.mjs [--only REGEX] [--ring first|endurance|all] [--jobs N]`, with
// --list or --check to see the faults or whether they still have a place, and --confirm to repeat
// each failing file without its fault; --hinted leaves out the files that a fault does not name,
// and --tree DIR takes another tree. The faults are in faults.txt.
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Misfit, mutate } from './fault-mutations.mjs';

/** How long a test file may take that a fault names, and any other: one that hangs has found it. */
const HINTED_MS = 120_000;
const OTHER_MS = 600_000;
const BUILD_MS = 120_000;

/** How long to wait for what a command wrote before it ended. */
const LAST_OUTPUT_MS = 1_000;

const RINGS = {
  first: (path) => !path.includes('/endurance/'),
  endurance: (path) => path.includes('/endurance/'),
  all: () => true,
};

/** The copies that exist, and the process groups that run. */
const folders = new Set();
const groups = new Set();

const { values: options } = parseArgs({
  options: {
    tree: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    ring: { type: 'string', default: 'all' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    hinted: { type: 'boolean', default: false },
    confirm: { type: 'boolean', default: false },
  },
});
const tree = resolve(options.tree);
const isInRing = RINGS[options.ring];
if (!isInRing) throw new Error(`--ring takes one of ${Object.keys(RINGS).join(', ')}`);
const wanted = readFaults().filter(({ name }) => new RegExp(options.only).test(name));

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
process.on('exit', cleanUp);

if (options.list) for (const { name } of wanted) console.log(name);
else if (options.check) check();
else await runAll();

/** The faults in faults.txt, each with its name. */
function readFaults() {
  const lines = fs.readFileSync(new URL('faults.txt', import.meta.url), 'utf8').split('\n');
  let [file, tests] = ['', /^/];
  return lines.flatMap((line) => {
    const [, within, kind, tokens, argument] =
      /^ {2}(\S+) (\w+) (.*?)(?: ==> ?(.*))?$/.exec(line) ?? [];
    if (kind)
      return [{ name: `${file}: ${line.trim()}`, file, tests, within, kind, tokens, argument }];
    if (/^\w/.test(line)) [file, tests] = [line.split(' ')[0], new RegExp(line.split(/ +/)[1])];
    return [];
  });
}

/** Tells which faults no longer have a place, and why. */
function check() {
  const results = wanted.map((fault) => ({ ...fault, ...mutated(tree, fault) }));
  const stale = results.filter(({ misfit }) => misfit);
  for (const { name, misfit } of stale)
    console.log(`${'stale'.padEnd(16)}${name}\n${''.padEnd(16)}${misfit}`);
  console.log(`${wanted.length} faults, ${stale.length} of them stale`);
  if (stale.length > 0) process.exitCode = 1;
}

async function runAll() {
  const queue = [...wanted];
  const counts = {};
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  const told = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
  console.log(`${wanted.length} faults: ${told.join(', ')}`);
  const isFound = (verdict) => verdict === 'caught' || verdict === 'does not build';
  if (!Object.keys(counts).every(isFound)) process.exitCode = 1;

  /** Takes faults from the queue, one after the other, and tries them in a copy of its own. */
  async function work() {
    if (queue.length === 0) return;
    const copy = copyOfTree();
    for (let fault = queue.shift(); fault; fault = queue.shift()) {
      const since = performance.now();
      const { verdict, by = '' } = await tryFault(copy, fault);
      const seconds = Math.round((performance.now() - since) / 1_000);
      console.log(`${verdict.padEnd(16)}${fault.name}${by} (${seconds} s)`);
      counts[verdict] = (counts[verdict] ?? 0) + 1;
    }
    empty(dirname(copy));
    folders.delete(dirname(copy));
  }
}

/** Copies what git would, and links the packages. */
function copyOfTree() {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout } = spawnSync('git', ['-C', tree, ...listed], { maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`git cannot list the files of ${tree}`);
  const folder = fs.mkdtempSync(join(tmpdir(), 'notes-server-faults-'));
  folders.add(folder);
  // Some tests run as another user, who needs access too.
  fs.chmodSync(folder, 0o755);
  const copy = join(folder, 'tree');
  for (const path of stdout.toString().split('\0')) {
    const source = join(tree, path);
    // What was deleted and not committed is listed all the same.
    if (path === '' || !fs.existsSync(source)) continue;
    fs.mkdirSync(dirname(join(copy, path)), { recursive: true });
    fs.cpSync(source, join(copy, path), { verbatimSymlinks: true });
  }
  fs.symlinkSync(join(tree, 'node_modules'), join(copy, 'node_modules'));
  // The tests have to find a fault, not the compiler, which writes its output all the same.
  const manifest = join(copy, 'package.json');
  const text = fs.readFileSync(manifest, 'utf8');
  fs.writeFileSync(manifest, text.replace('"tsc &&', '"(tsc || true) &&'));
  return copy;
}

/** The text of the file with the fault, or why it has no place there. */
function mutated(folder, { file, within, kind, tokens, argument }) {
  const path = join(folder, 'src', file);
  if (!fs.existsSync(path)) return { misfit: 'there is no such file' };
  try {
    return { text: mutate(fs.readFileSync(path, 'utf8'), within, kind, tokens, argument) };
  } catch (error) {
    if (error instanceof Misfit) return { misfit: error.message };
    throw error;
  }
}

async function tryFault(copy, fault) {
  const { text, misfit } = mutated(copy, fault);
  if (misfit) return { verdict: 'stale', by: `: ${misfit}` };
  const path = join(copy, 'src', fault.file);
  const original = fs.readFileSync(path);
  try {
    fs.writeFileSync(path, text);
    if (!(await build(copy))) return { verdict: 'does not build' };
    const failed = await firstFailure(copy, fault);
    if (!failed) return { verdict: 'NOT CAUGHT' };
    const by = `  by ${relative(join(copy, 'dist/test'), failed.file)}: ${failed.test}`;
    fs.writeFileSync(path, original);
    if (!options.confirm) return { verdict: 'caught', by };
    const passes = (await build(copy)) && !(await failureOf(copy, failed.file, failed.limitMs));
    return { verdict: passes ? 'caught' : 'flaky', by };
  } finally {
    fs.writeFileSync(path, original);
  }
}

async function build(copy) {
  const { status } = await run(copy, 'npm', ['run', 'build'], BUILD_MS);
  return status === 0;
}

/** Runs the files that the fault names and then the others, up to the first that fails. */
async function firstFailure(copy, { tests }) {
  const root = join(copy, 'dist/test');
  const names = fs.readdirSync(root, { recursive: true }).map((name) => `/${name}`);
  const files = names.filter((name) => name.endsWith('.test.js') && isInRing(name)).sort();
  const hinted = files.filter((name) => tests.test(name));
  const others = options.hinted ? [] : files.filter((name) => !tests.test(name));
  for (const name of [...hinted, ...others]) {
    const limitMs = hinted.includes(name) ? HINTED_MS : OTHER_MS;
    const test = await failureOf(copy, join(root, name), limitMs);
    if (test !== undefined) return { file: join(root, name), test, limitMs };
  }
  return undefined;
}

/** Runs a test file until a test fails; returns its name, undefined if none did. */
async function failureOf(copy, file, limitMs) {
  const words = ['--test', '--test-concurrency=2', '--test-reporter=tap', file];
  const { status, output } = await run(copy, process.execPath, words, limitMs, /^ *not ok .*\n/m);
  if (status === 0) return undefined;
  const names = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  if (names.length === 0 && status === null) return 'did not end in time';
  return names.find((name) => basename(name) !== basename(file)) ?? 'ended without a failed test';
}

/**
 * Runs a command in a process group of its own, until its output matches `enough`; the status is
 * null where that, or the time-out, ended it.
 */
async function run(copy, command, words, limitMs, enough = /$^/) {
  const temporary = join(dirname(copy), 'temporary');
  fs.mkdirSync(temporary, { recursive: true });
  fs.chmodSync(temporary, 0o1777);
  // A run of tests must not take itself for a part of the one that started it.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const env = { ...inherited, TMPDIR: temporary };
  const stdio = ['ignore', 'pipe', 'ignore'];
  const child = spawn(command, words, { cwd: copy, env, detached: true, stdio });
  groups.add(child.pid);
  const timer = setTimeout(() => kill(-child.pid), limitMs);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (enough.test(output)) kill(-child.pid);
  });
  const closed = new Promise((done) => child.once('close', done));
  const status = await new Promise((done) => child.once('exit', done).once('error', () => done(1)));
  clearTimeout(timer);
  kill(-child.pid);
  groups.delete(child.pid);
  // What outlives the command may hold its output open.
  await Promise.race([closed, delay(LAST_OUTPUT_MS)]);
  child.stdout.destroy();
  for (const id of leftIn(dirname(copy))) kill(id);
  empty(temporary);
  return { status, output };
}

/** The processes that work in the folder or were told of it, where the system shows them. */
function leftIn(folder) {
  if (!fs.existsSync('/proc/self')) return [];
  const ids = fs.readdirSync('/proc').map(Number);
  return ids.filter((id) => {
    if (Number.isNaN(id) || id === process.pid) return false;
    try {
      if (fs.readlinkSync(`/proc/${id}/cwd`).startsWith(folder)) return true;
      const told = (name) => fs.readFileSync(`/proc/${id}/${name}`, 'utf8');
      return ['cmdline', 'environ'].some((name) => told(name).includes(folder));
    } catch {
      return false;
    }
  });
}

function kill(id) {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** Ends what runs in the folder, unmounts what is mounted there, and removes it. */
function empty(folder) {
  for (const id of leftIn(folder)) kill(id);
  const mounts = fs.existsSync('/proc/mounts') ? fs.readFileSync('/proc/mounts', 'utf8') : '';
  for (const [, place = ''] of mounts.split('\n').map((line) => line.split(' '))) {
    if (place.startsWith(folder)) spawnSync('umount', ['--lazy', place]);
  }
  try {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    console.error(`${folder} stays: ${error.message}`);
  }
}

/** Leaves neither processes nor folders behind, however the program ends. */
function cleanUp() {
  for (const id of groups) kill(-id);
  for (const folder of folders) empty(folder);
}
