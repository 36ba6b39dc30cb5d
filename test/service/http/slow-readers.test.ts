// Clients that read slowly or leave before they have read: both cost a bounded amount of memory and
// work.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DISPATCH_LIMITS } from '../../../src/http/limits.ts';
import { ClientGone } from '../../../src/http/problem.ts';
import { Pages } from '../../../src/lists/pages.ts';
import { listRoutes } from '../../../src/lists/route.ts';
import { notes } from '../../../src/resources/notes.ts';
import { NO_MEMORY } from '../../../src/storage/writer.ts';
import { createGate, EMPTY_CALL, startBareServer, textRoute } from '../../support/bare-server.ts';
import { openDatabase, overhear } from '../../support/databases.ts';
import { collectGarbage } from '../../support/heap.ts';
import { setLimits } from '../../support/overload.ts';
import {
  assertProblem,
  converse,
  exchangeLast,
  openSocket,
  readAll,
  requestText,
} from '../../support/raw.ts';
import { listsOf } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

const REAL_BYTES = DISPATCH_LIMITS.repliesBytes;
setLimits({ after }, DISPATCH_LIMITS, { repliesBytes: 67_108_864 });

/** Four of these may wait, and none into the buffers of the system. */
const LARGE = 'x'.repeat(DISPATCH_LIMITS.repliesBytes / 4);

test('slow readers: 192 MiB of answers may wait for them', () => {
  assert.equal(REAL_BYTES, 201_326_592);
});

test('slow readers: further large answers are 503, small ones are not', async (t) => {
  const routes = [
    textRoute('GET', '/large', () => LARGE),
    textRoute('GET', '/small', () => 'small'),
    textRoute('DELETE', '/written', () => LARGE),
    textRoute('GET', '/checked', (call) => String(call.ensureSendable())),
  ];
  const server = await startBareServer(t, routes);
  const slow = await Promise.all(Array.from({ length: 4 }, () => openSocket(server)));
  for (const socket of slow) socket.pause().write(requestText('GET /large', ['connection: close']));
  await until(() => server.outcomes.length === slow.length);
  const refused = await exchangeLast(server, 'GET /large');
  assert.equal(assertProblem(refused, 'service-unavailable').detail.includes('read slowly'), true);
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal((await exchangeLast(server, 'GET /small')).body, 'small');
  // A handler can tell before it reads what is large.
  assertProblem(await exchangeLast(server, 'GET /checked'), 'service-unavailable');
  // What was written is not refused.
  assert.equal((await exchangeLast(server, 'DELETE /written')).body, LARGE);

  slow[0]?.destroy();
  for (const socket of slow.slice(1)) {
    const answer = await readAll(socket.resume());
    assert.ok(answer.length > LARGE.length);
  }
  const large = await converse(server, requestText('HEAD /large', ['connection: close']));
  assert.equal((await large.answer('HEAD')).status, 200);
});

test('clients that leave: a handler can tell', async (t) => {
  const routes = [
    textRoute('GET', '/quick', (call) => String(call.ensureSendable())),
    textRoute('GET', '/endless', async (call) => {
      for (;;) {
        call.ensureSendable();
        await nextTurn();
      }
    }),
  ];
  const server = await startBareServer(t, routes, { probeMs: 20 });
  assert.equal((await exchangeLast(server, 'GET /quick')).body, 'undefined');
  const { socket } = await converse(server, requestText('GET /endless'));
  socket.destroy();
  await until(() => server.outcomes.length === 2);
  assert.deepEqual([server.outcomes[1]?.status, server.outcomes[1]?.error], [undefined, undefined]);
});

test('clients that leave: their large answers take no room', async (t) => {
  const gate = createGate();
  let waiting = 0;
  const slow = async () => {
    waiting += 1;
    await gate.passed;
    return LARGE;
  };
  const server = await startBareServer(
    t,
    [
      textRoute('GET', '/large', slow),
      textRoute('GET', '/gone', async (call) => {
        for (;;) {
          try {
            call.ensureSendable();
          } catch {
            return LARGE;
          }
          await nextTurn();
        }
      }),
    ],
    { probeMs: 20 },
  );
  const leaving = await Promise.all(
    Array.from({ length: 4 }, () => converse(server, requestText('GET /gone'))),
  );
  const staying = await openSocket(server);
  staying.write(requestText('GET /large', ['connection: close']));
  await until(() => waiting === 1);
  for (const { socket } of leaving) socket.destroy();
  await until(() => server.outcomes.length === leaving.length);
  gate.open();
  assert.match(await readAll(staying), /^HTTP\/1\.1 200 /);
});

test('idle connections: keep nothing of their last request', async (t) => {
  const seen: WeakRef<object>[] = [];
  const remembered = textRoute('GET', '/remembered', ({ headers }) => {
    seen.push(new WeakRef(headers));
    return 'a';
  });
  const server = await startBareServer(t, [remembered, textRoute('GET', '/other', () => 'b')]);
  const { socket, answer } = await converse(server, requestText('GET /remembered'));
  assert.equal((await answer()).body, 'a');
  // The server itself remembers its latest request: make that another one.
  await exchangeLast(server, 'GET /other');
  await until(async () => {
    collectGarbage();
    return seen[0]?.deref() === undefined;
  });
  assert.equal(socket.destroyed, false);
  socket.destroy();
});

test('clients that leave: no page is read for them', async (t) => {
  const { database, reads } = overhear(await openDatabase(t));
  const pages = new Pages(listsOf(notes), database);
  const bases = { baseUrl: 'http://a', problemBase: '' };
  const [list = assert.fail()] = listRoutes({ pages, memory: NO_MEMORY, bases });
  const ensureSendable = () => {
    throw new ClientGone('gone');
  };
  const leaving = { ...EMPTY_CALL, ensureSendable };
  await assert.rejects(async () => list.handle(leaving), ClientGone);
  assert.equal(reads.length, 0);
  // Those that stay get theirs, although they share a batch.
  const settled = await Promise.allSettled(
    [leaving, EMPTY_CALL, leaving].map((call) => list.handle(call)),
  );
  const statuses = settled.map((each) => each.status === 'fulfilled' && each.value.status);
  assert.deepEqual([statuses, reads.length], [[false, 200, false], 1]);
});
