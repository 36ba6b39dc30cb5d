// Pages of 60 MB, because each character of their notes is six in JSON.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { send } from '../support/http.ts';
import { CANNOT_LOOK } from '../support/threads.ts';

const NOTE = { title: 'note', body: '\u0001'.repeat(100_000) };

test('large pages: take a bounded amount of memory', { skip: CANNOT_LOOK }, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  for (let count = 0; count < 130; count += 1) await send(url, 'POST', '/notes', { json: NOTE });
  const take = async (offset: number) =>
    (await send(url, 'GET', `/notes?limit=100&offset=${offset}`)).status;
  const { pid } = command.process;

  async function peakOf(read: () => Promise<number[]>): Promise<number> {
    // The peak begins anew.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const statuses = await read();
    assert.ok(statuses.includes(200), String(statuses));
    const [, kilobytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1_024;
  }

  const oneClient = await peakOf(async () => {
    const statuses = [];
    for (let offset = 0; offset < 10; offset += 1) statuses.push(await take(offset));
    return statuses;
  });
  // Each page is another one.
  const manyClients = await peakOf(() =>
    Promise.all(Array.from({ length: 30 }, (_, offset) => take(offset))),
  );
  t.diagnostic(
    `at most ${Math.round(oneClient)} MB for one client, ${Math.round(manyClients)} for 30`,
  );
  assert.ok(oneClient < 400, `${oneClient} MB`);
  assert.ok(manyClients < 512, `${manyClients} MB`);
  assert.equal((await stop(command)).status, 0);
});
