// Many clients that never read their answers.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { DISPATCH_LIMITS } from '../../src/http/limits.ts';
import { startCommand, stop } from '../support/command.ts';
import { request } from '../support/http.ts';
import { exchange, openSocket, requestText } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';
import { CANNOT_LOOK, descriptorsOf, residentMegabytesOf } from '../support/threads.ts';
import { until } from '../support/until.ts';

const READERS = 100;
/** The answers that may wait, twice as those in the making count too, and --cache-size. */
const MOST_MEGABYTES = (2 * DISPATCH_LIMITS.repliesBytes) / 1_048_576 + 64;

test(`slow readers: ${READERS} cost bounded memory, which the next ones reuse`, async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const port = Number(new URL(url).port);
  const { pid } = command.process;
  const large = { title: 'large', body: '\u{1f44b}'.repeat(100_000) };
  // A page is 10 MB: the readers request four times as much as may wait for them.
  for (let count = 0; count < 25; count += 1) await request(url, 'POST', '/notes', { json: large });
  await request(url, 'POST', '/tags', { json: { name: 'small' } });
  const before = { megabytes: residentMegabytesOf(pid), descriptors: descriptorsOf(pid) };

  /** Resolves once the service has handled all requests. */
  const holdUp = async (name: string) => {
    const readers = await Promise.all(Array.from({ length: READERS }, () => openSocket({ port })));
    for (const [index, socket] of readers.entries()) {
      socket.pause().write(requestText('GET /notes?limit=25', [`x-request-id: ${name}-${index}`]));
    }
    for (const index of readers.keys()) await command.says(`"${name}-${index}"`);
    return readers;
  };
  /** Closes the connections. Resolves once the service answers with pages again. */
  const letGo = async (readers: readonly Socket[]) => {
    for (const socket of readers) socket.destroy();
    await until(() => descriptorsOf(pid) <= before.descriptors + 1);
    const list = requestText('HEAD /notes?limit=25', ['connection: close']);
    await until(async () => (await exchange({ port }, list)).status === 200);
  };

  const readers = await holdUp('reader');
  // Pages are refused now, single records are not.
  const during = residentMegabytesOf(pid);
  for (let count = 0; count < 100; count += 1)
    assert.equal((await request(url, 'GET', '/tags/1')).status, 200);
  assert.equal((await request(url, 'GET', '/notes?limit=25')).status, 503);

  await letGo(readers);
  // The allocator need not give the memory back, but the next readers must not need more.
  await letGo(await holdUp('again'));
  const last = await holdUp('last');
  const again = residentMegabytesOf(pid);
  await letGo(last);
  t.diagnostic(`resident ${[before.megabytes, during, again].map(Math.round).join(', ')} MB`);
  for (const [name, megabytes] of Object.entries({ during, again })) {
    const grown = megabytes - before.megabytes;
    assert.ok(grown < MOST_MEGABYTES, `${grown} MB ${name}`);
  }
  assert.equal((await stop(command)).status, 0);
});

const WRITERS = 2_500;

test(`slow readers: ${WRITERS} that write cost bounded memory`, async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const port = Number(new URL(url).port);
  const { pid } = command.process;
  const large = { title: 'large', body: '\u{1f44b}'.repeat(100_000) };
  await request(url, 'POST', '/notes', { json: large });
  const before = residentMegabytesOf(pid);
  const sockets = await Promise.all(Array.from({ length: WRITERS }, () => openSocket({ port })));
  for (const [index, socket] of sockets.entries()) {
    const patch = JSON.stringify({ title: `title ${index}` });
    const headers = ['content-type: application/json', `x-request-id: writer-${index}`];
    socket.pause().write(requestText('PATCH /notes/1', headers, patch));
  }
  for (const index of sockets.keys()) await command.says(`"writer-${index}"`);
  const grown = residentMegabytesOf(pid) - before;
  t.diagnostic(`${Math.round(grown)} MB`);
  assert.ok(grown < MOST_MEGABYTES, `${grown} MB`);

  for (const socket of sockets) socket.destroy();
  assert.equal((await stop(command)).status, 0);
});
