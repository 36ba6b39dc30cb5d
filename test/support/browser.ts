// A real browser for the tests of the pages that people see, one for each file of tests. What goes wrong on a page (a
// message on its console, a violation of its content security policy, a failed request or one to another host) is
// collected, so that none is let pass.
import { existsSync } from 'node:fs';
import { after, before, type TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM_PATH || '/usr/bin/chromium';
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
const STAY_HERE = ['--disable-background-networking', '--disable-component-update'];
const PATIENCE_MS = 20_000;

/** Why tests with a browser cannot run here; false if they can. */
export const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}; install chromium or set CHROMIUM_PATH`;
if (skip) process.stderr.write(`\n*** THE PAGES ARE NOT TESTED IN A BROWSER: ${skip} ***\n\n`);

let browser: Browser;
before(async () => {
  if (!skip) browser = await chromium.launch({ executablePath: CHROMIUM, args: [...ARGUMENTS, ...STAY_HERE] });
});
after(() => browser?.close());

/** A page of the browser, and all that went wrong on it so far. */
export interface Opened {
  readonly page: Page;
  readonly faults: readonly string[];
}

/** Opens `url` in a context of its own, after `prepare` has seen the page; it is closed at the end of the test. */
export async function open(
  t: TestContext,
  url: string,
  options: BrowserContextOptions = {},
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<Opened> {
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
  await prepare(page);
  await page.goto(url);
  return { page, faults };
}

/** Unfolds an operation of the docs page and returns its block. */
export async function unfold(page: Page, tag: string, operationId: string): Promise<Locator> {
  const block = page.locator(`#operations-${tag}-${operationId}`);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.execute').waitFor();
  return block;
}

/** Executes the operation of an unfolded block; returns the URL that was asked, and status and text as they are shown. */
export async function execute(block: Locator): Promise<{ url: string; status: string; text: string | null }> {
  const answered = block.page().waitForResponse((response) => response.request().resourceType() === 'fetch');
  await block.locator('.execute').click();
  const response = await answered;
  const table = block.locator('table.live-responses-table');
  const status = table.locator('tbody .response-col_status', { hasText: /^[2-5]\d\d/ });
  await status.waitFor();
  const body = table.locator('.highlight-code code').first();
  return {
    url: response.url(),
    status: (await status.textContent()) ?? '',
    text: (await body.count()) > 0 ? await body.textContent() : null,
  };
}
