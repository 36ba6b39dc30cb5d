// Searches that would take very long: they end after a time, and other requests do not wait for
// them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import { maxLengthOf } from '../support/collections.ts';
import { newFile } from '../support/databases.ts';
import type { Answer } from '../support/http.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** SQLite compares each of these characters with each of the phrase. */
const LONGEST_BODY = 'あ'.repeat(maxLengthOf(notes, 'body'));

const PHRASE = `"${'あ'.repeat(240)}"`;
const FINDS_ALL = `${PHRASE} ${PHRASE}`;
/** SQLite looks for the first match all the time. */
const FINDS_NONE = `${PHRASE} -${PHRASE}`;

function search(service: Service, query: string): Promise<Answer> {
  return service.request('GET', `/notes?q=${encodeURIComponent(query)}&limit=1`);
}

async function isFound(service: Service): Promise<boolean> {
  const { status, json } = await search(service, 'small');
  return status === 200 && json.total === 1;
}

/** Starts a service with a small note and `longNotes` others, which are indexed. */
async function startWithLongNotes(t: TestContext, db: string, longNotes: number): Promise<Service> {
  const service = await startService(t, { db });
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
  const service = await startWithLongNotes(t, ':memory:', 10);
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
