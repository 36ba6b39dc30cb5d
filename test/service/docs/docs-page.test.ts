// The docs page as people meet it: in a real browser, with every operation where it can be tried.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { execute, open, skip, unfold } from '../../support/browser.ts';
import { contract } from '../../support/contract.ts';
import { startService } from '../../support/service.ts';

const FRAMES = 200;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
}

/** The operations of the contract, each with its method and its path. */
const OPERATIONS = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);

test('every operation of the contract is on the page, which asks no other server for anything', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const shown = await page.locator('.opblock-summary-control').allTextContents();
  const expected = OPERATIONS.map(({ method, path, summary }) => `${method}${path}${summary}`);
  assert.deepEqual(shown.sort(), expected.sort());
  assert.deepEqual(faults, []);
});

test('operations are in the groups of the contract, in its order, each with what it is about', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const groups = contract.tags.map(({ name, description }) => ({ name, description }));
  assert.deepEqual(
    await page.locator('.opblock-tag > span').allTextContents(),
    groups.map(({ name }) => name),
  );
  assert.deepEqual(
    await page.locator('.opblock-tag small').allTextContents(),
    groups.map(({ description }) => description),
  );
  const rules = page.locator('.rules');
  assert.equal(await rules.locator('li').first().isVisible(), false);
  await rules.locator('summary').click();
  assert.ok(await rules.locator('li', { hasText: 'authorization: Bearer KEY' }).isVisible());
  for (const { name } of groups) {
    await page.getByRole('navigation', { name: 'Groups' }).getByRole('link', { name }).click();
    await page.waitForURL(`**/docs#operations-tag-${name}`);
    assert.ok(await page.locator(':target', { hasText: name }).isVisible());
  }
  assert.deepEqual(faults, []);
});

test('every operation can be tried as it is filled in', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  // What is deleted has to be there, and is needed by others before.
  const isDelete = ({ method }: { method: string }) => method === 'DELETE';
  const deletes = OPERATIONS.filter(isDelete).sort((one, other) => other.path.length - one.path.length);
  const creates = OPERATIONS.filter(({ operationId }) => operationId.startsWith('create'));
  const others = OPERATIONS.filter((operation) => !isDelete(operation) && !creates.includes(operation));
  for (const { tags, operationId } of [...creates, ...others, ...deletes]) {
    const block = await unfold(page, tags[0], operationId);
    const { status } = await execute(block);
    assert.match(status, /^2/, operationId);
    // All of them unfolded would slow down the page, and the test.
    await block.locator('.opblock-summary-control').click();
  }
  assert.deepEqual(faults, []);
});

test('an operation shows what it answers, and folds away the problems, which lead to their pages', {
  skip,
}, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  const block = await unfold(page, 'Notes', 'getNote');
  assert.deepEqual(
    await block.locator('tr.response').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-code'))),
    ['200'],
  );
  assert.match((await block.locator('tr.response pre.example').textContent()) ?? '', /"title": "Shopping list"/);
  const docs = await unfold(page, 'Documentation', 'getDocs');
  assert.match((await docs.locator('tr.response pre.example').textContent()) ?? '', /<!doctype html>/);
  const link = block.getByRole('link', { name: '404 Not Found' });
  assert.equal(await link.isVisible(), false);
  await block.locator('.problems summary').click();
  await link.click();
  await page.waitForURL(`${service.url}/problems/not-found`);
  assert.equal(await page.locator('h1').textContent(), '404 Not Found');
  assert.deepEqual(faults, []);
});

test('an operation that a link leads to is open, with its parameters and its schema', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs#/Comments/listComments`);
  const block = page.locator('#operations-Comments-listComments');
  await block.locator('tr[data-param-name="limit"]').waitFor();
  assert.deepEqual(
    (await block.locator('.parameter__name').allTextContents()).map((text) => text.replace(/\W.*/, '')),
    ['note_id', 'limit', 'offset'],
  );
  const answer = block.locator('.responses-table .response[data-code="200"]');
  await answer.locator('button[data-name="model"]').click();
  const schema = await answer.locator('[data-name="modelPanel"]').textContent();
  for (const word of ['CommentList', 'items', 'total', '[1, 100]']) assert.ok(schema?.includes(word), word);
  assert.deepEqual(faults, []);
});

test('"try it out" creates a note and shows what is wrong with another, under any name of the server', {
  skip,
}, async (t) => {
  const service = await startService(t);
  const here = service.url.replace('127.0.0.1', 'localhost');
  const { page, faults } = await open(t, `${here}/docs`);
  const block = await unfold(page, 'Notes', 'createNote');
  const sent = { title: 'From the page', body: '<b>"ünïcode" & 🗒</b>' };

  await block.locator('textarea').fill(JSON.stringify(sent));
  const { text: created, ...answer } = await execute(block);
  assert.deepEqual(answer, { url: `${here}/notes`, status: '201' });
  assert.deepEqual(JSON.parse(created ?? ''), { id: 1, ...sent });
  assert.deepEqual((await service.request('GET', '/notes/1')).json, { id: 1, ...sent });
  assert.deepEqual(faults, []);

  await block.locator('textarea').fill('{"title": "", "body": 4}');
  const refused = await execute(block);
  const { type, errors } = JSON.parse(refused.text ?? '') as { type: string; errors: { pointer: string }[] };
  assert.equal(refused.status, '422');
  assert.equal(type, `${service.url}/problems/validation-failed`);
  assert.deepEqual([...new Set(errors.map(({ pointer }) => pointer))].sort(), ['#/body', '#/title']);
  assert.deepEqual(faults, [
    'Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
  ]);
});

test('the page works below a path, behind a proxy that takes the path away', { skip }, async (t) => {
  const proxy = createServer((message, response) => {
    const { method, headers, url = '' } = message;
    const path = url.startsWith('/below/') ? url.slice('/below'.length) : '/not-below';
    const onward = request({ host: '127.0.0.1', port: service.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    message.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/below`;
  const service = await startService(t, { baseUrl });

  const { page, faults } = await open(t, `${baseUrl}/problems/not-found`);
  await page.getByRole('link', { name: 'notes-server' }).click();
  await page.waitForURL(`${baseUrl}/docs`);
  assert.ok((await page.locator('.command code').textContent())?.endsWith(`'${baseUrl}/notes'`));
  const { url, text } = await execute(await unfold(page, 'Health', 'getHealth'));
  assert.deepEqual(
    { url, json: JSON.parse(text ?? '') },
    { url: `${baseUrl}/health`, json: { status: 'ok', db: 'ok' } },
  );
  assert.deepEqual(faults, []);
});

test('the pages are dark where the reader wants them dark, and follow when that changes', { skip }, async (t) => {
  const service = await startService(t);
  for (const path of ['/docs', '/problems/validation-failed']) {
    const { page, faults } = await open(t, `${service.url}${path}`, { colorScheme: 'dark' });
    await page.locator('h1').waitFor();
    await assertColours(page, 'light on dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await assertColours(page, 'dark on light');
    assert.deepEqual(faults, []);
  }
});

/** Looks at the page frame by frame, for it is told of a new scheme only after it has been drawn. */
async function assertColours(page: Page, expected: string): Promise<void> {
  let seen = await coloursInNextFrame(page);
  for (let frame = 0; frame < FRAMES && seen !== expected; frame += 1) seen = await coloursInNextFrame(page);
  assert.equal(seen, expected, page.url());
}

async function coloursInNextFrame(page: Page): Promise<string> {
  const colours = await page.evaluate<string[]>(`new Promise((resolve) => requestAnimationFrame(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    resolve([style('h1').color, style('body').backgroundColor]);
  }))`);
  return colours.map((colour) => (Number(/\d+/.exec(colour)) < 128 ? 'dark' : 'light')).join(' on ');
}
