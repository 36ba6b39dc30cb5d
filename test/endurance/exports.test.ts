// GET /export of 100,000 notes: its memory is bounded, whoever does not read holds up nobody, and
// whoever leaves makes room for the next.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { filledFile } from '../support/filled.ts';
import { request } from '../support/http.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { skipLoudly } from '../support/skip.ts';
import { CANNOT_LOOK, descriptorsOf, residentMegabytesOf } from '../support/threads.ts';
import { until } from '../support/until.ts';

const NOTES = 100_000;
const HEAP_MEGABYTES = 64;
const GROWTH_MEGABYTES = 96;
const LINES = 500;

/** Begins an export as soon as there is room for it. */
async function begin(url: string): Promise<IncomingMessage> {
  let message: IncomingMessage | undefined;
  await until(async () => {
    message?.destroy();
    [message] = await once(get(`${url}/export`, { agent: false }), 'response');
    return message?.statusCode === 200;
  });
  assert.ok(message);
  return message;
}

async function fill(url: string): Promise<void> {
  const line = JSON.stringify({ title: 'title', body: 'x'.repeat(1_000) });
  const headers = { 'content-type': 'application/x-ndjson' };
  const body = `${line}\n`.repeat(LINES);
  for (let count = 0; count < NOTES; count += LINES)
    assert.equal((await request(url, 'POST', '/notes', { body, headers })).status, 201);
}

for (const kind of ['file', ':memory:'] as const)
  test(`exports: ${NOTES} notes, in ${kind}`, async (t) => {
    if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
    const db = kind === 'file' ? await filledFile(t, NOTES) : kind;
    // Without records in memory, which would grow as well.
    const args = ['--port', '0', '--db', db, '--cache-size', '0'];
    const node = [`--max-old-space-size=${HEAP_MEGABYTES}`];
    const command = startCommand(t, args, { node });
    const url = await command.ready();
    const { pid } = command.process;
    if (kind === ':memory:') await fill(url);
    await (await begin(url)).resume().toArray();
    const before = { megabytes: residentMegabytesOf(pid), descriptors: descriptorsOf(pid) };

    let bytes = 0;
    let most = 0;
    let end = '';
    for await (const chunk of await begin(url)) {
      bytes += chunk.length;
      end = chunk.toString().slice(-40);
      most = Math.max(most, residentMegabytesOf(pid));
    }
    assert.ok(bytes > NOTES * 1_000);
    assert.match(end, /{"type":"end","records":\d+}\n$/);

    for (let round = 0; round < 20; round += 1) {
      const message = await begin(url);
      if (round % 2 === 0) await once(message, 'readable');
      // Meanwhile, it does not read.
      for (let count = 0; count < 20; count += 1) {
        const json = { title: 'a', body: 'b' };
        assert.equal((await request(url, 'POST', '/notes', { json })).status, 201);
        assert.equal((await request(url, 'GET', '/notes/1')).status, 200);
      }
      most = Math.max(most, residentMegabytesOf(pid));
      message.destroy();
    }
    t.diagnostic(`resident ${Math.round(before.megabytes)} MB, at most ${Math.round(most)} MB`);
    assert.ok(most - before.megabytes < GROWTH_MEGABYTES, `${most} MB`);
    await until(() => descriptorsOf(pid) <= before.descriptors + 1);

    // The last client that has left may still have its place.
    const text = Buffer.concat(await (await begin(url)).toArray()).toString();
    const copy = kind === 'file' ? db : newFile(t);
    if (copy !== db) await runInProcess(['import', '--db', copy], { input: text });
    assert.ok((await exported(copy)) === text);
    const { status, stderr } = await stop(command);
    assert.equal(status, 0, stderr);
  });
