// The docs page as people meet it: in a real browser. What goes wrong on the page (a message on its console, a violation
// of its content security policy, a failed request or one to another host) is collected, and none is let pass.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { contract } from './contract.ts';
import { startService } from './harness.ts';

const CHROMIUM = process.env.CHROMIUM_PATH || '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}; install chromium or set CHROMIUM_PATH`;
if (skip) process.stderr.write(`\n*** THE DOCS PAGE IS NOT TESTED: ${skip} ***\n\n`);

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
const STAY_HERE = ['--disable-background-networking', '--disable-component-update'];
const PATIENCE_MS = 20_000;
const FRAMES = 200;

let browser: Browser;
before(async () => {
  if (!skip) browser = await chromium.launch({ executablePath: CHROMIUM, args: [...ARGUMENTS, ...STAY_HERE] });
});
after(() => browser?.close());

/** A page of the browser, and all that went wrong on it so far. */
interface Opened {
  readonly page: Page;
  readonly faults: readonly string[];
}

async function open(t: TestContext, url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('requestfailed', (failed) => faults.push(`${failed.url()} failed`));
  page.on('request', (sent) => {
    if (!/^data:/.test(sent.url()) && new URL(sent.url()).origin !== new URL(url).origin) faults.push(sent.url());
  });
  await page.goto(url);
  return { page, faults };
}

/** Unfolds an operation of the docs page and returns its block. */
async function unfold(page: Page, tag: string, operationId: string): Promise<Locator> {
  const block = page.locator(`#operations-${tag}-${operationId}`);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.execute').waitFor();
  return block;
}

/** Executes the operation of an unfolded block; returns the URL that was asked, and status and JSON as they are shown. */
async function execute(block: Locator): Promise<{ url: string; status: string; json: unknown }> {
  const answered = block.page().waitForResponse((response) => response.request().resourceType() === 'fetch');
  await block.locator('.execute').click();
  const response = await answered;
  const table = block.locator('table.live-responses-table');
  const status = table.locator('tbody .response-col_status', { hasText: String(response.status()) });
  await status.waitFor();
  const body = await table.locator('.highlight-code code').textContent();
  return { url: response.url(), status: (await status.textContent()) ?? '', json: JSON.parse(body ?? '') };
}

test('every operation of the contract is on the page, which asks no other server for anything', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const expected = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, { summary: string }>)
      .filter(([method]) => method !== 'parameters')
      .map(([method, { summary }]) => `${method.toUpperCase()}${path}${summary}`),
  );
  const shown = await page.locator('.opblock-summary-control').allTextContents();
  assert.deepEqual(shown.sort(), expected.sort());
  const description = await page.locator('.info__description').textContent();
  assert.ok(description?.includes(`curl --json '{"title":"a","body":"b"}' ${service.url}/notes`));
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
  const created = await execute(block);
  assert.deepEqual(created, { url: `${here}/notes`, status: '201', json: { id: 1, ...sent } });
  assert.deepEqual((await service.request('GET', '/notes/1')).json, created.json);
  assert.deepEqual(faults, []);

  await block.locator('textarea').fill('{"title": "", "body": 4}');
  const refused = await execute(block);
  const { type, errors } = refused.json as { type: string; errors: { pointer: string }[] };
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
  await page.getByRole('link').click();
  await page.waitForURL(`${baseUrl}/docs`);
  const { url, json } = await execute(await unfold(page, 'Health', 'getHealth'));
  assert.deepEqual({ url, json }, { url: `${baseUrl}/health`, json: { status: 'ok', db: 'ok' } });
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

test('nothing on a phone scrolls sideways, an unfolded operation included', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`, { viewport: { width: 390, height: 844 } });
  await execute(await unfold(page, 'Notes', 'createNote'));
  assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), 390);
  assert.deepEqual(faults, []);
});
