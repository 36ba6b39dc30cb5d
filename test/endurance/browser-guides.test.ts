// The guides in a real browser: what a reader does with code, headings and the list of the guides;
// and the first call of the docs page, which can be copied wherever the page is read. Axe inspects
// the guides in browser-access.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { GUIDES } from '../../src/docs/guides.ts';
import { NO_CLIPBOARD, open, pasted, skip } from '../support/browser.ts';
import { startService } from '../support/service.ts';

const PHONE = { width: 360, height: 740 };
/** Those on which tables or the side just begin to have room. */
const TABLETS = [769, 1024].map((width) => ({ width, height: 900 }));
const DESKTOP = { width: 1280, height: 900 };
const WRITTEN = 'http://127.0.0.1:3000';

const service = await startService({ after });
/** The address that the reader uses, which is not that of the service. */
const here = service.url.replace('127.0.0.1', 'localhost');
const scripting = `${here}/docs/guides/scripting`;

const codeIn = (page: Page) => page.locator('article code').allTextContents();

for (const [clipboard, script] of [
  ['a clipboard', ''],
  ['a selection', NO_CLIPBOARD],
] as const) {
  test(`guides: the keyboard copies commands without prompts and answers, by ${clipboard}`, {
    skip,
  }, async (t) => {
    const { page, faults } = await open(t, scripting, undefined, (page) =>
      page.addInitScript(script),
    );
    const block = page.locator('.command').first();
    await block.getByRole('button', { name: 'Copy the command' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Copied.').waitFor();
    const lines = (await block.locator('code').textContent())?.split('\n') ?? [];
    const commands = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
    assert.equal(commands.length, 3);
    assert.ok(commands.every((command) => command.includes(`${here}/notes`)));
    assert.equal(await pasted(page), commands.join('\n'));
    assert.deepEqual(faults, []);
  });
}

test('guides: commands have the address of the reader, or without a script that of the text', {
  skip,
}, async (t) => {
  const { page } = await open(t, scripting, { javaScriptEnabled: false });
  const written = await codeIn(page);
  assert.equal(await page.getByRole('button').count(), 0);
  assert.ok(written.some((code) => code.includes(WRITTEN)));
  const scripted = await open(t, scripting);
  await scripted.page.getByRole('button').first().waitFor();
  const shown = await codeIn(scripted.page);
  assert.deepEqual(
    shown,
    written.map((code) => code.replaceAll(WRITTEN, here)),
  );
});

const CUT = `[...document.querySelectorAll('.option')].filter(
  (option) => option.getClientRects().length > 1).map((option) => option.textContent)`;
const CLIPPED = `[...document.querySelectorAll('article :not(.scrolling, .visually-hidden)')]
  .filter((element) => !element.closest('.scrolling'))
  .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
  .map(({ outerHTML }) => outerHTML)`;
const HAS_ROOM = 'document.documentElement.scrollWidth === innerWidth';

test('guides: on phones and tablets, lines wrap or scroll in their place, and no option is cut', {
  skip,
}, async (t) => {
  const { page } = await open(t, `${service.url}/docs/guides`, { viewport: PHONE });
  for (const [name] of GUIDES) {
    await page.goto(`${service.url}/docs/guides/${name}`);
    for (const viewport of [PHONE, ...TABLETS]) {
      await page.setViewportSize(viewport);
      const state = `${name}, ${viewport.width} px`;
      assert.ok(await page.evaluate(HAS_ROOM), state);
      assert.deepEqual(await page.evaluate(CUT), [], state);
      assert.deepEqual(await page.evaluate(CLIPPED), [], state);
    }
  }
});

test('guides: the list of all is at the side, or folded on a phone', { skip }, async (t) => {
  for (const viewport of [DESKTOP, PHONE]) {
    const { page } = await open(t, scripting, { viewport });
    const side = page.getByRole('navigation', { name: 'Guides' });
    const summary = side.locator('summary');
    const link = side.getByRole('link', { name: 'Finding notes' });
    assert.equal(await summary.isVisible(), viewport === PHONE);
    if (viewport === PHONE) {
      assert.equal(await link.isVisible(), false);
      await summary.press('Enter');
    }
    await link.waitFor();
    // After the link to the guide itself.
    for (let stop = 0; stop < 40 && !(await isFocused(page, 'Finding notes')); stop += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/guides/finding-notes');
  }
});

test('guides: a heading links to itself, and shows it with the focus', { skip }, async (t) => {
  const { page } = await open(t, scripting);
  const link = page.getByRole('heading').getByRole('link', { name: 'Keep a log', exact: true });
  const mark = () =>
    page.evaluate<string>(
      "getComputedStyle(document.querySelector('#keep-a-log a'), '::after').content",
    );
  assert.equal(await mark(), 'none');
  await link.focus();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  assert.match(await mark(), /#/);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/scripting#keep-a-log');
});

function isFocused(page: Page, text: string): Promise<boolean> {
  return page.evaluate(`document.activeElement.textContent === '${text}'`);
}

/** Gives the page a description without operations, which it shows much more quickly. */
const withoutOperations = (page: Page) =>
  page.route('**/openapi.json', (route) =>
    route.fulfill({
      json: {
        openapi: '3.1.1',
        info: { title: 'Notes', version: '1', description: '' },
        paths: {},
      },
    }),
  );

test('docs page: the keyboard copies the command, or at least selects it', { skip }, async (t) => {
  for (const [script, message] of [
    ['', 'Copied.'],
    [`${NO_CLIPBOARD} document.execCommand = () => false;`, 'The command is selected'],
  ] as const) {
    const { page, faults } = await open(t, `${service.url}/docs`, undefined, async (opened) => {
      await withoutOperations(opened);
      await opened.addInitScript(script);
    });
    await page.getByRole('button', { name: 'Copy the command' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(message).waitFor();
    const isCopied = message === 'Copied.';
    const text = isCopied
      ? await pasted(page)
      : await page.evaluate<string>('String(getSelection())');
    assert.equal(text, await page.locator('.command code').textContent());
    assert.ok(text.endsWith(`'${service.url}/notes'`));
    assert.deepEqual(faults, []);
  }
});
