// Thousands of mutated requests to a process with a small heap, over connections that stay open.
// NOTES_TEST_SEED=n repeats a run.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Command, startCommand, stop } from '../support/command.ts';
import { createTally, sendMutations, type Tally } from '../support/fuzz.ts';
import { request } from '../support/http.ts';
import { samplesOfContract } from '../support/samples.ts';
import { skipLoudly } from '../support/skip.ts';
import { assertSound } from '../support/stored-data.ts';
import {
  CANNOT_LOOK,
  descriptorsOf,
  residentMegabytesOf,
  SHORT_IDLE,
  threadsOf,
} from '../support/threads.ts';
import { until } from '../support/until.ts';

const SEED = Number(process.env.NOTES_TEST_SEED ?? Date.now() % 2 ** 31);
const REQUESTS = 10_000;
/** By then the code is compiled and the caches have their size. */
const WARMING_UP = 3_000;
const HEAP_MEGABYTES = 96;
const GROWTH_MEGABYTES = 128;

test(`mutations: ${REQUESTS} requests leave nothing behind`, async (t) => {
  t.diagnostic(`NOTES_TEST_SEED=${SEED}`);
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0', '--log-level', 'error', '--max-threads', '16'], {
    node: [`--max-old-space-size=${HEAP_MEGABYTES}`, ...SHORT_IDLE],
  });
  const url = await command.ready();
  const port = Number(new URL(url).port);
  const { pid } = command.process;
  await request(url, 'POST', '/notes', { json: { title: 'a', body: 'b' } });
  await request(url, 'POST', '/notes/1/comments', { json: { body: 'c' } });
  await request(url, 'POST', '/tags', { json: { name: 'd' } });

  const tally = createTally();
  const fuzz = { samples: samplesOfContract(), seed: SEED, connections: 32 };
  const threads = threadsOf(pid);
  const threadsEnded = () => until(() => threadsOf(pid) === threads);
  await sendMutations(port, { ...fuzz, first: 0, last: WARMING_UP }, tally);
  await threadsEnded();
  const before = { megabytes: residentMegabytesOf(pid), descriptors: descriptorsOf(pid) };
  await sendMutations(port, { ...fuzz, first: WARMING_UP, last: REQUESTS }, tally);
  await threadsEnded();
  await until(() => descriptorsOf(pid) <= before.descriptors);
  const megabytes = residentMegabytesOf(pid);

  t.diagnostic(figures(tally));
  t.diagnostic(`resident ${before.megabytes.toFixed(1)} MB, then ${megabytes.toFixed(1)} MB`);
  assert.ok(
    megabytes - before.megabytes < GROWTH_MEGABYTES,
    `it grew by ${megabytes - before.megabytes} MB`,
  );
  await assertHealthy(url, command);
  const accepted = (tally.statuses.get(200) ?? 0) + (tally.statuses.get(201) ?? 0);
  assert.ok(
    accepted > REQUESTS / 20,
    `only ${accepted} were accepted: the mutations are too rough`,
  );
});

async function assertHealthy(url: string, command: Command): Promise<void> {
  assert.equal((await request(url, 'GET', '/health')).status, 200);
  const created = await request(url, 'POST', '/notes', { json: { title: 'last', body: 'b' } });
  assert.equal(created.status, 201);
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  await assertSound(join(command.folder, 'notes.db'));
}

function figures({ statuses, connections, quiet, silent }: Tally): string {
  const counts = [...statuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status}: ${count}`);
  const unanswered = `${quiet} ended by the client, ${silent} unanswered`;
  return `${counts.join(', ')}; ${connections} connections, ${unanswered}`;
}
