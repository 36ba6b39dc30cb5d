// Requests of every operation, damaged at random, over connections that stay open. NOTES_TEST_SEED=n repeats a run, and
// NOTES_TEST_FUZZ=n sends more.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Command, startCommand, stop } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { openLane, type Tally } from '../../support/lane.ts';
import { createRandom, mutated } from '../../support/mutations.ts';
import { samplesOfContract } from '../../support/samples.ts';
import { skipLoudly } from '../../support/skip.ts';
import { assertSound } from '../../support/stored-data.ts';
import {
  CANNOT_LOOK,
  descriptorsOf,
  NO_COVERAGE,
  residentMegabytesOf,
  SHORT_IDLE,
  threadsOf,
} from '../../support/threads.ts';
import { until } from '../../support/until.ts';

const SEED = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const REQUESTS = Number(process.env.NOTES_TEST_FUZZ ?? 10_000);
/** Before the memory is looked at for the first time: code that has run once is compiled, caches have their size. */
const WARMING_UP = 3_000;
const LANES = 32;
const HEAP_MEGABYTES = 96;
/** Node 24 levels off later and higher than the others: at 250 MB, from 140, after 40,000 requests and after 100,000. */
const GROWTH_MEGABYTES = 128;

const samples = samplesOfContract();

/** Sends the mutated requests from `first` to `last`, several at a time. */
async function send(port: number, first: number, last: number, tally: Tally): Promise<void> {
  let next = first;
  const lanes = Array.from({ length: LANES }, async () => {
    const lane = openLane(port, tally);
    while (next < last) {
      const number = next;
      next += 1;
      const bytes = mutated(createRandom(Math.imul(SEED, 1_000_003) + number), samples);
      try {
        await lane.exchange(bytes, `probe-${number}`);
      } catch (error) {
        const text = JSON.stringify(bytes.toString('latin1'));
        throw new Error(`NOTES_TEST_SEED=${SEED}, request ${number}: ${text.slice(0, 3_000)}`, { cause: error });
      }
    }
    await lane.close();
  });
  await Promise.all(lanes);
}

test('every operation of the contract is among the samples', () => {
  const { bare, withBodies, demonstrations } = samples;
  assert.ok(bare.length > 50 && withBodies.length >= 12 && demonstrations.length >= 12);
  assert.deepEqual(
    [...bare, ...withBodies, ...demonstrations].filter((text) => text.includes('undefined') || /\{\w+\}/.test(text)),
    [],
  );
});

test(`${REQUESTS} mutated requests get whole answers, leave nothing behind and do no harm`, async (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${SEED}`);
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0', '--log-level', 'error', '--max-threads', '16'], {
    // A heap that leaks will not do for all of the requests.
    node: [`--max-old-space-size=${HEAP_MEGABYTES}`, ...SHORT_IDLE],
    env: NO_COVERAGE,
  });
  const url = await command.ready();
  const port = Number(new URL(url).port);
  const { pid } = command.process;
  await request(url, 'POST', '/notes', { json: { title: 'a', body: 'b' } });
  await request(url, 'POST', '/notes/1/comments', { json: { body: 'c' } });
  await request(url, 'POST', '/tags', { json: { name: 'd' } });

  const tally: Tally = { statuses: new Map(), connections: 0, quiet: 0, silent: 0 };
  const threads = threadsOf(pid);
  const calm = () => until(() => threadsOf(pid) === threads);
  await send(port, 0, WARMING_UP, tally);
  await calm();
  const before = { megabytes: residentMegabytesOf(pid), descriptors: descriptorsOf(pid) };
  const started = performance.now();
  await send(port, WARMING_UP, Math.max(REQUESTS, WARMING_UP + 1), tally);
  const seconds = (performance.now() - started) / 1_000;
  await calm();
  await until(() => descriptorsOf(pid) <= before.descriptors);
  const megabytes = residentMegabytesOf(pid);

  t.diagnostic(figures(tally));
  t.diagnostic(
    `resident ${before.megabytes.toFixed(1)} MB, then ${megabytes.toFixed(1)} MB, in ${seconds.toFixed(1)} s`,
  );
  t.diagnostic(
    `descriptors ${before.descriptors}, then ${descriptorsOf(pid)}; threads ${threads}, then ${threadsOf(pid)}`,
  );
  assert.ok(megabytes - before.megabytes < GROWTH_MEGABYTES, `it grew by ${megabytes - before.megabytes} MB`);
  await assertHealthy(url, command);
  const share = (tally.statuses.get(200) ?? 0) + (tally.statuses.get(201) ?? 0);
  assert.ok(share > REQUESTS / 20, `only ${share} were let through: the mutations are too rough to say anything`);
});

/** The service answers and stops as ever, has logged no error, and its database is whole. */
async function assertHealthy(url: string, command: Command): Promise<void> {
  assert.equal((await request(url, 'GET', '/health')).status, 200);
  const created = await request(url, 'POST', '/notes', { json: { title: 'last', body: 'b' } });
  assert.equal(created.status, 201);
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  await assertSound(join(command.folder, 'notes.db'));
}

function figures({ statuses, connections, quiet, silent }: Tally): string {
  const counts = [...statuses].sort(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`);
  return `${counts.join(', ')}; ${connections} connections, ${quiet} ended by the client, ${silent} without an answer`;
}
