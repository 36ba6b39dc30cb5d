// A real browser, one per test file. All faults of a page (console messages, violations of the
// content security policy, failed requests, requests to other hosts) are collected, so that tests
// can assert that there are none.
import { existsSync } from 'node:fs';
import { after, before } from 'node:test';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { contract } from './contract.ts';
import type { Ends } from './engine.ts';

const CHROMIUM = process.env.CHROMIUM_PATH || '/usr/bin/chromium';
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];
const PATIENCE_MS = 60_000;

/** Why tests with a browser cannot run here; false if they can. */
export const skip = existsSync(CHROMIUM)
  ? false
  : `there is no ${CHROMIUM}; install chromium or set CHROMIUM_PATH`;
if (skip)
  process.stderr.write(`\n*** SKIPPED: THE PAGES ARE NOT TESTED IN A BROWSER: ${skip} ***\n\n`);

let browser: Browser;
let shared: BrowserContext;
before(async () => {
  if (skip) return;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  shared = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
});
after(() => browser?.close());

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
}

/** The operations of the contract, each with its method and its path. */
export const OPERATIONS = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);

/** A page of the browser, and everything that has gone wrong on it so far. */
export interface Opened {
  readonly page: Page;
  readonly faults: readonly string[];
}

/** Opens `url` after `prepare`. The pages of a file share a cache unless they have `options`. */
export async function open(
  test: Ends,
  url: string,
  options?: BrowserContextOptions,
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<Opened> {
  const context = options ? await browser.newContext(options) : shared;
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  test.after(() => (browser.isConnected() ? page.close() : undefined));
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('requestfailed', (failed) => faults.push(`${failed.url()} failed`));
  page.on('request', (sent) => {
    const isForeign =
      !/^data:/.test(sent.url()) && new URL(sent.url()).origin !== new URL(url).origin;
    if (isForeign) faults.push(sent.url());
  });
  await prepare(page);
  await page.goto(url);
  return { page, faults };
}

/** A script that takes the clipboard away, as on a page that came over http from elsewhere. */
export const NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined });";

/** Pastes what has been copied into the page, and returns it. */
export async function pasted(page: Page): Promise<string> {
  await page.evaluate("document.querySelector('main').append(document.createElement('textarea'))");
  const field = page.locator('main > textarea');
  await field.press('Control+V');
  return field.inputValue();
}

/** Unfolds an operation of the docs page and returns its block. */
export async function unfold(page: Page, tag: string, operationId: string): Promise<Locator> {
  const block = page.locator(`#operations-${tag}-${operationId}`);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.samples').waitFor();
  return block;
}

/** The URL of a request that was tried, and the status and text of its answer. */
export interface Shown {
  readonly url: string;
  readonly status: string;
  readonly text: string | null;
}

/** Executes the operation of an unfolded block. */
export async function execute(block: Locator): Promise<Shown> {
  const answered = block
    .page()
    .waitForResponse((response) => response.request().resourceType() === 'fetch');
  await block.locator('.execute').click();
  const response = await answered;
  const status = block.locator('.execution-status', { hasText: /^[2-5]\d\d/ });
  const shown = await status.textContent();
  const body = block.locator('.answer .highlight-code code');
  return {
    url: response.url(),
    status: shown?.slice(0, 3) ?? '',
    text: (await body.count()) > 0 ? await body.textContent() : null,
  };
}
