// Searches that would take very long: they end after a time, other requests do not wait for them,
// and other searches not long.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { SLOW_READ_LIMITS } from '../../src/lists/slow-reads.ts';
import { notes } from '../../src/resources/notes.ts';
import { maxLengthOf } from '../support/collections.ts';
import { newFile } from '../support/databases.ts';
import type { Answer } from '../support/http.ts';
import { setLimits } from '../support/overload.ts';
import { converse, requestText } from '../support/raw.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** SQLite compares each of these characters with each of the phrase. */
const LONGEST_BODY = 'あ'.repeat(maxLengthOf(notes, 'body'));

const PHRASE = `"${'あ'.repeat(25)}"`;
const FINDS_ALL = `${PHRASE} "${'あ'.repeat(26)}"`;
/** SQLite looks for the first match all the time. */
const FINDS_NONE = `${PHRASE} -${PHRASE}`;

function search(service: Service, query: string, client = '192.0.2.1'): Promise<Answer> {
  const headers = { 'x-forwarded-for': client };
  return service.request('GET', pathOf(query), { headers });
}

function pathOf(query: string): string {
  return `/notes?q=${encodeURIComponent(query)}&limit=1`;
}

async function isFound(service: Service): Promise<boolean> {
  const { status, json } = await search(service, 'small');
  return status === 200 && json.total === 1;
}

async function measured(service: Service, name: string): Promise<number> {
  const { text } = await service.request('GET', '/metrics');
  return Number(text.split(`${name}{batch="page"} `)[1]?.split('\n')[0]);
}

async function startWithLongNotes(t: TestContext, db: string, longNotes: number): Promise<Service> {
  const service = await startService(t, { db, trustProxy: true });
  await service.request('POST', '/notes', { json: { title: 'small', body: 'b' } });
  for (let count = 0; count < longNotes; count += 1) {
    const json = { title: 'long', body: LONGEST_BODY };
    assert.equal((await service.request('POST', '/notes', { json })).status, 201);
  }
  await until(() => isFound(service));
  return service;
}

function assertTooSlow({ status, headers, json }: Answer): void {
  assert.equal(status, 503);
  const detail = 'The list takes too long to find. Ask for less, or try again later.';
  assert.equal(json.detail, detail);
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

test('slow searches: in memory, one ends with 503', async (t) => {
  const service = await startWithLongNotes(t, ':memory:', 60);
  assertTooSlow(await search(service, FINDS_NONE));
  assert.ok(await isFound(service));
});

test('slow searches: in a file, one ends with 503, and only searches wait', async (t) => {
  const service = await startWithLongNotes(t, newFile(t), 30);
  let isOver = false;
  const answer = search(service, FINDS_ALL).finally(() => {
    isOver = true;
  });
  for (let round = 0; round < 20; round += 1) {
    for (const path of ['/health', '/notes/1'])
      assert.equal((await service.request('GET', path)).status, 200);
    assert.ok(!isOver, `the search ended before round ${round}`);
  }
  assertTooSlow(await answer);
  assert.ok(await isFound(service));
});

test('slow searches: they do not keep another client from searching', async (t) => {
  const service = await startWithLongNotes(t, newFile(t), 60);
  let ended = 0;
  const attacks = Array.from({ length: 8 }, () =>
    search(service, FINDS_ALL).finally(() => {
      ended += 1;
    }),
  );
  await until(async () => (await service.request('GET', '/notes/1')).status === 200);
  const { status } = await search(service, 'small', '192.0.2.2');
  assert.equal(status, 200);
  assert.ok(ended <= 2, `${ended} searches ended before`);
  for (const answer of await Promise.all(attacks)) assertTooSlow(answer);
  assert.ok(await isFound(service));
});

test('slow searches: a client that has left does not wait', async (t) => {
  setLimits(t, SLOW_READ_LIMITS, { waitMs: 30_000 });
  setLimits(t, HTTP_LIMITS, { probeMs: 20 });
  const service = await startWithLongNotes(t, newFile(t), 60);
  const lanes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => converse(service)));
  for (const { socket } of lanes)
    socket.write(requestText(`GET ${pathOf(FINDS_ALL)}`, ['x-forwarded-for: 192.0.2.1']));
  await until(async () => (await measured(service, 'notes_batch_waiting')) >= 4);
  const before = await measured(service, 'notes_batch_items_count');
  for (const { socket } of lanes) socket.destroy();
  await until(async () => (await measured(service, 'notes_batch_waiting')) === 0);
  const done = (await measured(service, 'notes_batch_items_count')) - before;
  assert.ok(done <= 2, `${done} searches ran for nobody`);
  assert.ok(await isFound(service));
});
