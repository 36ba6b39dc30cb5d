// As many streams of changes as may be open, and clients that read slowly or not at all.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { STREAM_TIMES } from '../../src/changes/feature.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { startCommand, stop } from '../support/command.ts';
import { openDatabase, withNumbers } from '../support/databases.ts';
import { temporaryFolder } from '../support/engine.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { request, send } from '../support/http.ts';
import { setLimits } from '../support/overload.ts';
import { lastingPort } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { CANNOT_LOOK, residentMegabytesOf } from '../support/threads.ts';
import { until } from '../support/until.ts';

const STREAMS = 1_000;
const CLIENTS = 64;
const NOTE = { json: { title: 'a', body: 'b' } };
const EVENTS = { accept: 'text/event-stream' };

/** The most memory that a stream may take, with changes that were just sent and earlier reads. */
const MOST_KILOBYTES = 200;

test(`streams: ${STREAMS} beside other clients, and again after a stop`, async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const folder = temporaryFolder(t);
  const args = ['--port', String(await lastingPort()), '--log-level', 'error'];
  const first = startCommand(t, args, { folder });
  const url = await first.ready();
  await loadWithReads(url, 10_000);
  const aloneMb = residentMegabytesOf(first.process.pid);
  const streams = await openStreams(t, url, () => ({}));
  const openMb = residentMegabytesOf(first.process.pid);
  const refused = await request(url, 'GET', '/changes', { headers: EVENTS });
  assert.equal(refused.status, 503);

  const writes = loadWithWrites(url, 100);
  await loadWithReads(url, 10_000);
  await writes;
  await until(() => streams.every(({ events }) => events.length >= 100));
  const busyMb = residentMegabytesOf(first.process.pid);
  const kilobytes = ((busyMb - aloneMb) * 1_024) / STREAMS;
  const stopped = performance.now();
  const { status } = await stop(first);
  const stopMs = performance.now() - stopped;
  assert.equal(status, 0);
  // The service has ended the streams; none was cut off.
  await until(() => streams.every((stream) => stream.hasEnded()));
  const megabytes = [aloneMb, openMb, busyMb].map(Math.round).join(', ');
  t.diagnostic(`${megabytes} MB resident; stopped in ${Math.round(stopMs)} ms`);
  assert.ok(kilobytes < MOST_KILOBYTES, `${kilobytes} KB per stream`);

  const second = startCommand(t, args, { folder });
  await second.ready();
  await loadWithWrites(url, 20);
  const resumed = await openStreams(t, url, (index) => ({
    'last-event-id': streams[index]?.events.at(-1)?.id ?? '',
  }));
  await loadWithWrites(url, 20);
  await until(() => resumed.every(({ events }) => events.length >= 40));
  for (const [index, stream] of resumed.entries()) assertComplete([streams[index], stream], 140);
  assert.equal((await stop(second)).status, 0);
});

test('streams: comments keep one open that has nothing to send', async (t) => {
  setLimits(t, HTTP_LIMITS, { stalledMs: HTTP_LIMITS.stalledMs / 150 });
  setLimits(t, STREAM_TIMES, { commentMs: STREAM_TIMES.commentMs / 150 });
  const service = await startService(t);
  const stream = await openStream(t, service.url);
  // Without comments, Node would close the connection after two intervals.
  await until(() => stream.comments.length >= 12);
  await service.request('POST', '/notes', NOTE);
  await stream.changes(1);
});

test('streams: a client that does not read is disconnected, and continues later', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const command = startCommand(t, ['--port', '0']);
  const url = await command.ready();
  const idle = await openStream(t, url, '/changes?include=record', { 'x-request-id': 'idle' });
  idle.response.pause();
  const reading = await openStream(t, url, '/changes?include=record');
  const beforeMb = residentMegabytesOf(command.process.pid);
  const large = { json: { title: 'large', body: '\u{1f44b}'.repeat(100_000) } };
  let written = 0;
  const ended = command.says('"stream ended"');
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (; !isOver; written += 1) {
    assert.equal((await request(url, 'POST', '/notes', large)).status, 201);
    assert.ok(written < 100, 'the client is still connected');
  }
  const grownMb = residentMegabytesOf(command.process.pid) - beforeMb;
  t.diagnostic(`${written} records of 400 KB until it was disconnected; ${grownMb.toFixed(0)} MB`);
  await until(() => reading.events.length >= written);
  idle.response.resume();
  await until(() => idle.response.closed);
  assert.equal(idle.hasEnded(), false);
  const rest = await openStream(t, url, '/changes?include=record', {
    'last-event-id': idle.events.at(-1)?.id ?? /id: (\S+)/.exec(idle.text())?.[1] ?? '',
  });
  await until(() => idle.events.length + rest.events.length >= written);
  assertComplete([idle, rest], written);
  assertComplete([reading], written);
});

test('streams: a slow client gets 100,000 changes', async (t) => {
  const folder = temporaryFolder(t);
  const database = await openDatabase(t, join(folder, 'notes.db'));
  await database.transact([
    {
      sql: `${withNumbers(100_000)} INSERT INTO notes (title, body, number)
            SELECT 'a', 'b', n FROM numbers`,
    },
  ]);
  await database.close();
  const command = startCommand(t, ['--port', '0', '--log-level', 'error'], { folder });
  const url = await command.ready();
  const { next } = (await request(url, 'GET', '/changes')).json;
  const stream = await openStream(t, url, `/changes?since=${next.split('-')[0]}-0`);
  for (let events = 1; events < 100_000; events = 2 * stream.events.length) {
    await until(() => stream.events.length >= events);
    stream.response.pause();
    // The service has time to fill all buffers, and serves others.
    for (let count = 0; count < 50; count += 1) await send(url, 'GET', '/notes/1');
    stream.response.resume();
  }
  await until(() => stream.events.length >= 100_000);
  assertComplete([stream], 100_000);
});

async function openStreams(
  t: TestContext,
  url: string,
  headersOf: (index: number) => Readonly<Record<string, string>>,
  count = STREAMS,
): Promise<EventStream[]> {
  const streams: EventStream[] = [];
  // All at once, some connections would be refused.
  while (streams.length < count) {
    const length = Math.min(50, count - streams.length);
    const opened = Array.from({ length }, (_, index) =>
      openStream(t, url, '/changes', headersOf(streams.length + index)),
    );
    streams.push(...(await Promise.all(opened)));
  }
  return streams;
}

/** Asserts that the events of all streams, one stream after another, are the first changes. */
function assertComplete(streams: readonly (EventStream | undefined)[], count: number): void {
  const numbers = streams.flatMap((stream) =>
    stream?.events.map(({ id }) => Number(id?.split('-')[1])),
  );
  assert.deepEqual(
    numbers,
    Array.from({ length: count }, (_, index) => index + 1),
  );
}

async function loadWithReads(url: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  let left = count;
  const client = async () => {
    for (; left > 0; ) {
      left -= 1;
      const { status } = await send(url, 'GET', '/notes?limit=1', { agent });
      assert.equal(status, 200);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
}

async function loadWithWrites(url: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1)
    assert.equal((await request(url, 'POST', '/notes', NOTE)).status, 201);
}
