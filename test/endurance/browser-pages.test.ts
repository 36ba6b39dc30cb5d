// What readers do with the pages in a real browser: they find their way in a long guide, search all
// guides, read tables on a phone, and print.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { GUIDES } from '../../src/docs/guides.ts';
import { open, skip } from '../support/browser.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const PHONE = { width: 360, height: 740 };
const DESKTOP = { width: 1280, height: 900 };
/** A4 without the margins of a browser, in CSS pixels. */
const PAPER = { width: 718, height: 1047 };

const service = await startService({ after });

const GUIDE_PATHS = GUIDES.map(([name]) => `/docs/guides/${name}`);
const LONG = `${service.url}/docs/guides/scripting`;

/** Runs a program in the page, which lists what is wrong there. */
const list = (page: Page, program: string) => page.evaluate<string[]>(program);

/** The lines of text of each block of code that are under its button. */
const COVERED = `[...document.querySelectorAll('.command')].flatMap((block) => {
  const button = block.querySelector('.copy').getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(block.querySelector('code'));
  return [...range.getClientRects()].filter((line) => line.width > 0 &&
    line.right > button.left && line.left < button.right &&
    line.bottom > button.top && line.top < button.bottom).map(() => block.textContent);
})`;

const LINES = `(() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector('.command code'));
  return String(new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size);
})()`;

test('docs page: the first call is in two lines, and no button covers text', {
  skip,
}, async (t) => {
  const { page } = await open(t, `${service.url}/docs`, { viewport: DESKTOP });
  const call = page.locator('.command code').first();
  await page.locator('.copy').first().waitFor();
  assert.doesNotMatch((await call.textContent()) ?? '', /\\/);
  assert.equal(await page.evaluate(LINES), '2');
  for (const viewport of [PHONE, DESKTOP]) {
    await page.setViewportSize(viewport);
    for (const path of ['/docs', ...GUIDE_PATHS]) {
      await page.goto(`${service.url}${path}`);
      await page.locator('.bar').waitFor();
      assert.deepEqual(await list(page, COVERED), [], `${path}, ${viewport.width} px`);
    }
  }
});

const END = 'scrollTo(0, document.documentElement.scrollHeight)';

test('guides: contents and the list of all stand still beside a long guide', {
  skip,
}, async (t) => {
  const { page } = await open(t, LONG, { viewport: DESKTOP });
  await page.evaluate(END);
  const side = page.getByRole('navigation', { name: 'Guides' });
  for (const name of ['Keep a log', 'Finding notes']) {
    const { y = -1 } = (await side.getByRole('link', { name, exact: true }).boundingBox()) ?? {};
    assert.ok(y >= 0 && y < DESKTOP.height, `${name} at ${y} px`);
  }
  // The last of them can be reached by scrolling the list itself.
  await side.getByRole('link', { name: 'Releasing' }).scrollIntoViewIfNeeded();
  assert.ok(await page.evaluate('scrollY > 1000'));
});

test('guides: a phone has a button for both, which folds them after a choice', {
  skip,
}, async (t) => {
  const { page } = await open(t, LONG, { viewport: PHONE });
  await page.evaluate(END);
  const button = page.locator('.side summary');
  const box = (await button.boundingBox()) ?? assert.fail();
  assert.ok(box.y >= 0 && box.y < 10 && box.height >= 40, JSON.stringify(box));
  await button.click();
  const link = page.locator('.side').getByRole('link', { name: 'Keep a log' });
  await link.click();
  await page.waitForURL('**/scripting#keep-a-log');
  await link.waitFor({ state: 'hidden' });
  const heading = page.locator('h2#keep-a-log');
  await until(async () => {
    const { y = -1 } = (await heading.boundingBox()) ?? {};
    return y >= box.height && y < PHONE.height / 2;
  });
});

test('pages: the bar marks where the reader is', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  for (const [path, name, value] of [
    ['/docs', 'Operations', 'page'],
    ['/docs/guides', 'Guides', 'page'],
    ['/docs/guides/options', 'Guides', 'true'],
    ['/problems', 'Problems', 'page'],
    ['/problems/not-found', 'Problems', 'true'],
  ] as const) {
    await page.goto(`${service.url}${path}`);
    const marked = page.locator('.bar [aria-current]');
    assert.deepEqual(await marked.allTextContents(), [name], path);
    assert.equal(await marked.getAttribute('aria-current'), value, path);
  }
});

/** Cells of more than one line that are narrow. */
const SQUEEZED = `[...document.querySelectorAll('td')].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const tops = new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom / 8)));
  return cell.clientWidth > 0 && cell.clientWidth < 120 && tops.size > 1;
}).map(({ textContent, clientWidth }) => clientWidth + ' px: ' + textContent)`;

test('guides: on a phone, no column of a table is squeezed', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`, { viewport: PHONE });
  for (const path of GUIDE_PATHS) {
    await page.goto(`${service.url}${path}`);
    assert.deepEqual(await list(page, SQUEEZED), [], path);
  }
});

test('guides: an option is found by its link, and readable on a phone', { skip }, async (t) => {
  for (const viewport of [DESKTOP, PHONE]) {
    const { page } = await open(t, `${service.url}/docs/guides/options#--rate-limit`, { viewport });
    const row = page.locator('tr:has(:target)');
    const { y = -1 } = (await row.boundingBox()) ?? {};
    assert.ok(y >= 0 && y < viewport.height / 2, `${y} px`);
    for (const part of ['--rate-limit N', 'requests per minute', 'else 600', 'NOTES_RATE_LIMIT']) {
      const { x = -1, width = 0 } = (await row.getByText(part).first().boundingBox()) ?? {};
      assert.ok(x >= 0 && x + width <= viewport.width, `${part}, ${viewport.width} px`);
    }
  }
});

test('guides: a search finds sections by words, in all guides', { skip }, async (t) => {
  for (const path of ['/docs/guides', '/docs/guides/threads']) {
    const { page, faults } = await open(t, `${service.url}${path}`, { viewport: DESKTOP });
    const search = page.getByRole('search');
    const field = search.getByLabel('Search all guides');
    const count = search.getByRole('status');
    await field.fill('xylophone');
    await count.getByText('0 sections have all words.').waitFor();
    // The beginnings of words are enough, in any order; titles come first.
    await field.fill('LOG kee');
    const found = search.getByRole('link');
    await found.first().waitFor();
    assert.equal(await found.first().textContent(), 'Scripting notes: Keep a log');
    await field.fill('cluster');
    await search.getByRole('link', { name: 'Cluster', exact: true }).waitFor();
    // It is read after guides that mention clusters.
    assert.match((await found.first().textContent()) ?? '', /cluster$/i);
    await field.fill('');
    await until(async () => (await found.count()) === 0);
    assert.equal(await count.textContent(), '');
    await field.fill('--api-keys-file kubernetes');
    await field.press('Tab');
    await found.first().waitFor();
    await found.first().press('Enter');
    await page.waitForURL(/\/docs\/guides\/[a-z-]+#/);
    assert.deepEqual(faults, []);
  }
});

test('guides: without a script, there is no search', { skip }, async (t) => {
  const options = { javaScriptEnabled: false };
  const { page } = await open(t, `${service.url}/docs/guides`, options);
  assert.equal(await page.getByRole('searchbox').count(), 0);
});

const CUT = `[...document.querySelectorAll('main, main *')].filter((element) =>
  element.getClientRects().length > 0 && !element.closest('svg, .visually-hidden') &&
  (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 ||
    element.getBoundingClientRect().right > innerWidth)).map(({ outerHTML }) => outerHTML)`;

/** Code whose ink is not dark, or whose paper is not white. */
const NOT_DARK = `[...document.querySelectorAll('pre, pre *')].filter((element) => {
  const { color, backgroundColor } = getComputedStyle(element);
  return color !== 'rgb(0, 0, 0)' || !/^rgba\\(0, 0, 0, 0\\)|255, 255, 255/.test(backgroundColor);
}).map(({ outerHTML }) => outerHTML)`;

test('pages: on paper no line is lost, code is dark on white, and the address is there', {
  skip,
}, async (t) => {
  const few = ['/docs', '/docs/guides/scripting', '/problems/not-found'];
  const all = [...few, '/docs/guides', ...GUIDE_PATHS, '/problems', '/problems/validation-failed'];
  for (const [colorScheme, paths] of [
    ['dark', few],
    ['light', all],
  ] as const) {
    const { page } = await open(t, `${service.url}/docs`, { viewport: PAPER, colorScheme });
    await page.emulateMedia({ media: 'print' });
    for (const path of paths) {
      await page.goto(`${service.url}${path}`);
      if (path === '/docs') await page.locator('.opblock').first().waitFor();
      const state = `${path}, ${colorScheme}`;
      assert.deepEqual(await list(page, CUT), [], state);
      assert.deepEqual(await list(page, NOT_DARK), [], state);
      const address = page.locator('footer');
      assert.ok(await address.isVisible(), state);
      await until(async () => (await address.textContent()) === `${service.url}${path}`);
      for (const hidden of ['.bar', '.side', '.copy', '.find', '.neighbours'])
        assert.equal(await page.locator(hidden).first().isVisible(), false, `${hidden}, ${state}`);
    }
  }
});
