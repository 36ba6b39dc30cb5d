// Clients that read slowly, or go before they have read: neither may cost more than a bounded amount of memory and work.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectionRoutes } from '../../../src/collections/collection.ts';
import { notes } from '../../../src/collections/notes.ts';
import { ClientGone } from '../../../src/http/body.ts';
import { OUTBOX_LIMITS } from '../../../src/http/outbox.ts';
import { createTable } from '../../../src/storage/table.ts';
import { createWriter } from '../../../src/storage/writer.ts';
import { createGate, EMPTY_CALL, startBareServer, textRoute } from '../../support/bare-server.ts';
import { startCommand, stop } from '../../support/command.ts';
import { openDatabase } from '../../support/databases.ts';
import { collectGarbage } from '../../support/heap.ts';
import { request } from '../../support/http.ts';
import { assertProblem, converse, exchange, openSocket, readAll, requestText } from '../../support/raw.ts';
import { skipLoudly } from '../../support/skip.ts';
import { CANNOT_LOOK, descriptorsOf, residentMegabytesOf } from '../../support/threads.ts';
import { until } from '../../support/until.ts';

/** What may be on its way, and as much again for what is being made and was thrown away. */
const MOST_MEGABYTES = (2 * OUTBOX_LIMITS.togetherBytes) / 1_048_576;

/** A few pages of those that the test asks for. */
const REST_MEGABYTES = 128;

/** Four of these fit at once. */
const LARGE = 'x'.repeat(OUTBOX_LIMITS.togetherBytes / 4);

test('large answers that wait for slow readers leave room for small ones, and for large ones once they are read', async (t) => {
  const routes = [textRoute('GET', '/large', () => LARGE), textRoute('GET', '/small', () => 'small')];
  const server = await startBareServer(t, routes);
  const slow = await Promise.all(Array.from({ length: 4 }, () => openSocket(server)));
  for (const socket of slow) socket.pause().write(requestText('GET /large', ['connection: close']));
  await until(() => server.outcomes.length === slow.length);
  const refused = await exchange(server, requestText('GET /large', ['connection: close']));
  assert.equal(assertProblem(refused, 'service-unavailable').detail.includes('read slowly'), true);
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal((await exchange(server, requestText('GET /small', ['connection: close']))).body, 'small');

  slow[0]?.destroy();
  for (const socket of slow.slice(1)) {
    const answer = await readAll(socket.resume());
    assert.ok(answer.length > LARGE.length);
  }
  const large = await converse(server, requestText('HEAD /large', ['connection: close']));
  assert.equal((await large.answer('HEAD')).status, 200);
});

test('a handler can tell that its client has gone, and that it has not', async (t) => {
  const routes = [
    textRoute('GET', '/quick', (call) => String(call.ensureWanted())),
    textRoute('GET', '/endless', async (call) => {
      for (;;) {
        call.ensureWanted();
        await nextTurn();
      }
    }),
  ];
  const server = await startBareServer(t, routes);
  assert.equal((await exchange(server, requestText('GET /quick', ['connection: close']))).body, 'undefined');
  const { socket } = await converse(server, requestText('GET /endless'));
  socket.destroy();
  await until(() => server.outcomes.length === 2);
  assert.deepEqual([server.outcomes[1]?.status, server.outcomes[1]?.error], [undefined, undefined]);
});

test('who goes while a large answer is being made takes up no room', async (t) => {
  const gate = createGate();
  let waiting = 0;
  const slow = async () => {
    waiting += 1;
    await gate.passed;
    return LARGE;
  };
  const server = await startBareServer(t, [
    textRoute('GET', '/large', slow),
    textRoute('GET', '/gone', async (call) => {
      for (;;) {
        try {
          call.ensureWanted();
        } catch {
          return LARGE;
        }
        await nextTurn();
      }
    }),
  ]);
  const leaving = await Promise.all(Array.from({ length: 4 }, () => converse(server, requestText('GET /gone'))));
  const staying = await openSocket(server);
  staying.write(requestText('GET /large', ['connection: close']));
  await until(() => waiting === 1);
  for (const { socket } of leaving) socket.destroy();
  await until(() => server.outcomes.length === leaving.length);
  gate.open();
  assert.match(await readAll(staying), /^HTTP\/1\.1 200 /);
});

test('an idle connection keeps nothing of the request that was answered on it', async (t) => {
  const seen: WeakRef<object>[] = [];
  const remembered = textRoute('GET', '/remembered', ({ headers }) => {
    seen.push(new WeakRef(headers));
    return 'a';
  });
  const server = await startBareServer(t, [remembered, textRoute('GET', '/other', () => 'b')]);
  const { socket, answer } = await converse(server, requestText('GET /remembered'));
  assert.equal((await answer()).body, 'a');
  // Another connection's exchange: the server's own hands are full of it.
  await exchange(server, requestText('GET /other', ['connection: close']));
  await until(async () => {
    collectGarbage();
    return seen[0]?.deref() === undefined;
  });
  assert.equal(socket.destroyed, false);
  socket.destroy();
});

test('a page is not read for a client that has gone', async (t) => {
  const database = await openDatabase(t);
  const routes = collectionRoutes(notes, createTable(notes.shape, database, createWriter(database)));
  const list = routes.find(({ method, template }) => method === 'GET' && template === '/notes') ?? assert.fail();
  const ensureWanted = () => {
    throw new ClientGone('gone');
  };
  await assert.rejects(async () => list.handle({ ...EMPTY_CALL, ensureWanted }), ClientGone);
  assert.equal((await list.handle(EMPTY_CALL)).status, 200);
});

test('100 clients that never read their answers cost a bounded amount of memory, which the next ones use again', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const port = Number(new URL(url).port);
  const { pid } = command.process;
  const large = { title: 'large', body: '\u{1f44b}'.repeat(100_000) };
  // One page of them is 10 MB: four times as much is asked for as may be on its way.
  for (let count = 0; count < 25; count += 1) await request(url, 'POST', '/notes', { json: large });
  await request(url, 'POST', '/tags', { json: { name: 'small' } });
  const before = { megabytes: residentMegabytesOf(pid), descriptors: descriptorsOf(pid) };

  /** Has as many clients as that ask and do not read; resolves once all have been answered, as far as they take it. */
  const holdUp = async (name: string) => {
    const readers = await Promise.all(Array.from({ length: 100 }, () => openSocket({ port })));
    for (const [index, socket] of readers.entries()) {
      socket.pause().write(requestText('GET /notes?limit=25', [`x-request-id: ${name}-${index}`]));
    }
    for (const index of readers.keys()) await command.says(`"${name}-${index}"`);
    return readers;
  };
  /** Lets them go; resolves once a list is read again. */
  const letGo = async (readers: readonly Socket[]) => {
    for (const socket of readers) socket.destroy();
    await until(() => descriptorsOf(pid) <= before.descriptors + 1);
    const list = requestText('HEAD /notes?limit=25', ['connection: close']);
    await until(async () => (await exchange({ port }, list)).status === 200);
  };

  const readers = await holdUp('reader');
  // Lists are refused now; single records are not.
  const during = residentMegabytesOf(pid);
  const started = performance.now();
  for (let count = 0; count < 100; count += 1) assert.equal((await request(url, 'GET', '/tags/1')).status, 200);
  const each = (performance.now() - started) / 100;
  assert.equal((await request(url, 'GET', '/notes?limit=25')).status, 503);

  await letGo(readers);
  // Whether the system has it back is for the allocator to decide: the same once more takes no more.
  for (let round = 0; round < 3; round += 1) await letGo(await holdUp(`again-${round}`));
  const last = await holdUp('last');
  const again = residentMegabytesOf(pid);
  await letGo(last);
  t.diagnostic(
    `resident ${before.megabytes.toFixed(0)} MB, ${during.toFixed(0)} MB with them, ${again.toFixed(0)} MB with the ` +
      `fifth hundred; ${each.toFixed(1)} ms for an answer to others`,
  );
  assert.ok(during - before.megabytes < MOST_MEGABYTES, `${during - before.megabytes} MB`);
  assert.ok(again - during < REST_MEGABYTES, `${again - during} MB more`);
  assert.equal((await stop(command)).status, 0);
});
