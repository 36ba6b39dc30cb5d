// The change feed in a real browser, whose EventSource continues after a restart of the service.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { open, skip } from '../support/browser.ts';
import { lastingPort, startListener } from '../support/ports.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const NOTE = { json: { title: 'a', body: 'b' } };

/** Starts a server of an empty page; resolves with its origin. */
function startPage(t: TestContext): Promise<string> {
  return startListener(t, (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><link rel="icon" href="data:,">');
  });
}

/** Lets the page follow the changes of the service at `url`; resolves when it has begun. */
async function follow(page: Page, url: string): Promise<void> {
  await page.evaluate(`
    globalThis.seen = [];
    globalThis.opened = 0;
    const source = new EventSource('${url}/changes');
    source.addEventListener('open', () => { opened += 1; });
    for (const type of ['note.created', 'note.updated', 'note.deleted'])
      source.addEventListener(type, ({ data, lastEventId }) => {
        const change = JSON.parse(data);
        if (change.id !== lastEventId || change.type !== type) throw new Error(data);
        seen.push(type + ' ' + change.note_id);
      });
  `);
  await until(async () => (await page.evaluate('opened')) === 1);
}

/** Creates, changes and deletes the note that gets `id`; returns the changes. */
async function change({ request }: Service, id: number): Promise<string[]> {
  assert.equal((await request('POST', '/notes', NOTE)).headers.location, `/notes/${id}`);
  await request('PATCH', `/notes/${id}`, { json: { title: 'c' } });
  await request('DELETE', `/notes/${id}`);
  return ['created', 'updated', 'deleted'].map((type) => `note.${type} ${id}`);
}

for (const isForeign of [false, true]) {
  const origin = isForeign ? 'another' : 'its own';
  test(`changes: EventSource on a page of ${origin} origin misses nothing`, { skip }, async (t) => {
    const foreign = await startPage(t);
    const options = { port: await lastingPort(), corsOrigins: isForeign ? [foreign] : [] };
    const first = await startService(t, options);
    const { url, file: db } = first;
    const { page } = await open(t, isForeign ? foreign : `${url}/problems`);
    await follow(page, url);
    const made: string[] = [];
    for (let id = 1; id <= 20; id += 1) made.push(...(await change(first, id)));
    await first.close();
    const second = await startService(t, { ...options, db });
    // The browser connects again after the three seconds of `retry`.
    made.push(...(await change(second, 21)));
    await until(async () => (await page.evaluate('opened')) === 2);
    made.push(...(await change(second, 22)));
    const seen = () => page.evaluate<string[]>('seen');
    await until(async () => (await seen()).length >= made.length);
    assert.deepEqual(await seen(), made);
  });
}

test('changes: EventSource on a page of an origin that is not allowed', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, await startPage(t));
  await page.evaluate(`
    globalThis.failed = 0;
    const source = new EventSource('${service.url}/changes');
    source.addEventListener('error', () => { failed = source.readyState; });
  `);
  await until(async () => (await page.evaluate('failed')) === 2);
  assert.ok(faults.some((fault) => fault.includes('CORS')));
});
