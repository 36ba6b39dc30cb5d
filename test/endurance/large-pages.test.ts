// Pages of 60 MB, because each character of their notes is six in JSON: they take a bounded amount
// of memory, which the service gives back.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { request, send } from '../support/http.ts';
import { residentMegabytesOf, CANNOT_LOOK as skip } from '../support/threads.ts';
import { until } from '../support/until.ts';

const NOTES = 160;
const NOTE = { json: { title: 'note', body: '\u0001'.repeat(100_000) } };
const IN_SEQUENCE = 20;
const AT_ONCE = 60;

const MOST_MB_IN_SEQUENCE = 400;
const MOST_MB_AT_ONCE = 512;

/** Runs `work`; resolves with its result and with the most resident memory meanwhile, in MB. */
async function withPeak<Result>(pid: number | undefined, work: () => Promise<Result>) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const result = await work();
  const [, kilobytes] =
    /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { result, megabytes: Number(kilobytes) / 1_024 };
}

test(`large pages: ${AT_ONCE} at once take a bounded amount of memory`, { skip }, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  const { pid } = command.process;
  for (let count = 0; count < NOTES; count += 1)
    assert.equal((await request(url, 'POST', '/notes', NOTE)).status, 201);
  // Each page is another one of its round.
  const take = async (offset: number) =>
    (await send(url, 'GET', `/notes?limit=100&offset=${offset}`)).status;

  const sequence = await withPeak(pid, async () => {
    for (let offset = 0; offset < IN_SEQUENCE; offset += 1) assert.equal(await take(offset), 200);
  });
  await until(() => residentMegabytesOf(pid) < sequence.megabytes);
  const atOnce = await withPeak(pid, () =>
    Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => take(offset))),
  );
  const [one, many] = [sequence, atOnce].map(({ megabytes }) => Math.round(megabytes));
  const served = atOnce.result.filter((status) => status === 200).length;
  t.diagnostic(`${one} MB for one client, ${many} MB for ${AT_ONCE}, of whom ${served} got one`);
  assert.ok(sequence.megabytes < MOST_MB_IN_SEQUENCE, `${one} MB`);
  assert.ok(atOnce.megabytes < MOST_MB_AT_ONCE, `${many} MB`);
  assert.ok(served > 0 && atOnce.result.every((status) => status === 200 || status === 503));
  assert.equal((await stop(command)).status, 0);
});
