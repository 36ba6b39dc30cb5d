// The pages for everyone: on a small screen, by keyboard, by ear, without a script. Axe looks at them in every state.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { execute, open, skip, unfold } from '../../support/browser.ts';
import { startService } from '../../support/service.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const SMALL_PHONE = { width: 320, height: 568 };
const PHONE = { width: 375, height: 812 };
const DESKTOP = { width: 1280, height: 900 };

/** More than there are places to stop at before the first operation. */
const STOPS = 40;

/** What axe finds on the page as it is now, of any weight. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  // Without preloading: axe would fetch the style sheets again, and does not understand one that is imported to a layer.
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>("axe.run({ resultTypes: ['violations'], preload: false })");
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join('\n')}`);
}

/** The width that the page would need. */
function widthOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth');
}

/** Opens what there is to open on the docs page: the rules, an operation with an answer, a schema and its problems. */
async function openAll(page: Page): Promise<void> {
  await page.locator('.rules summary').click();
  const create = await unfold(page, 'Notes', 'createNote');
  await execute(create);
  await create.locator('.responses-wrapper button[data-name="model"]').click();
  await create.locator('.problems summary').click();
  await execute(await unfold(page, 'Comments', 'listComments'));
}

for (const [device, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`axe finds nothing wrong with the pages, ${colorScheme}, on a ${device}`, { skip }, async (t) => {
      const service = await startService(t);
      const { page, faults } = await open(t, `${service.url}/docs`, { viewport, colorScheme });
      await page.locator('.opblock').first().waitFor();
      assert.deepEqual(await findings(page), []);
      await openAll(page);
      assert.deepEqual(await findings(page), []);
      await page.locator('.key .authorize').click();
      await page.locator('.modal-ux').waitFor();
      assert.deepEqual(await findings(page), []);
      for (const slug of ['not-found', 'validation-failed']) {
        await page.goto(`${service.url}/problems/${slug}`);
        assert.deepEqual(await findings(page), []);
      }
      assert.deepEqual(faults, []);
    });
  }
}

test('nothing scrolls sideways or is squeezed, with everything unfolded, from small phones to desktops', {
  skip,
}, async (t) => {
  const service = await startService(t);
  const { page } = await open(t, `${service.url}/docs`);
  await openAll(page);
  for (const viewport of [SMALL_PHONE, PHONE, DESKTOP]) {
    await page.setViewportSize(viewport);
    assert.equal(await widthOf(page), viewport.width);
    for (const description of await page.locator('td.response-col_description:visible').all()) {
      assert.ok(((await description.boundingBox())?.width ?? 0) > viewport.width / 2, `at ${viewport.width} px`);
    }
  }
});

test('nothing on the page of a problem scrolls sideways, however long its type is', { skip }, async (t) => {
  const service = await startService(t, { problemBase: `https://errors.example/${'kinds'.repeat(20)}` });
  for (const slug of ['request-header-fields-too-large', 'validation-failed']) {
    const { page } = await open(t, `${service.url}/problems/${slug}`, { viewport: SMALL_PHONE });
    assert.equal(await widthOf(page), SMALL_PHONE.width, slug);
  }
});

test('what is touched on a phone is large enough for a finger', { skip }, async (t) => {
  const service = await startService(t);
  const { page } = await open(t, `${service.url}/docs`, { viewport: PHONE });
  const block = await unfold(page, 'Notes', 'createNote');
  const targets = ['.bar a', '.copy', '.rules summary', '.key .authorize', '.groups a', '.opblock-summary-control'];
  for (const target of [...targets.map((selector) => page.locator(selector)), block.locator('.execute')]) {
    for (const each of await target.all()) {
      const { height = 0 } = (await each.boundingBox()) ?? {};
      assert.ok(height >= 40, `${await each.textContent()} is ${height} px high`);
    }
  }
});

/** Presses Tab until what has the focus is `target`. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  const isFocused = () => target.evaluate((element) => element.matches(':focus-visible'));
  for (let stop = 0; stop < STOPS && !(await isFocused()); stop += 1) await page.keyboard.press('Tab');
  assert.ok(await isFocused(), `${target} is reached`);
  const outline = await target.evaluate(
    (element) => element.ownerDocument.defaultView?.getComputedStyle(element).outline,
  );
  assert.match(String(outline), /solid 3px/, `${target} shows that it has the focus`);
}

test('the keyboard leads past the bar, to the command, into an operation and to its answer', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.locator(':focus').textContent(), 'Skip to the content');
  assert.ok(await page.locator(':focus').isVisible());
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.locator(':focus').textContent(), 'Copy the command', 'the first stop of the content');

  const operation = page.locator('#operations-Notes-createNote');
  await tabTo(page, operation.locator('.opblock-summary-control'));
  await page.keyboard.press('Enter');
  await tabTo(page, operation.getByLabel('Request body'));
  await tabTo(page, operation.locator('.execute'));
  await page.keyboard.press('Enter');
  await operation.locator('.live-responses-table', { hasText: '201' }).waitFor();
  await tabTo(page, operation.locator('.problems summary'));
  await page.keyboard.press('Enter');
  await tabTo(page, operation.getByRole('link', { name: '401 Unauthorized' }));
  assert.deepEqual(faults, []);
});

test('the form for keys has the focus while it is open, and gives it back', { skip }, async (t) => {
  const service = await startService(t, { apiKeys: ['correct-horse-battery-staple'] });
  const { page, faults } = await open(t, `${service.url}/docs`);
  const opener = page.locator('.key .authorize');
  await opener.click();
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.locator(':focus').getAttribute('type'), 'text');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await dialog.locator(':focus').textContent(), 'Close', 'the last stop is before the first');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('correct-horse-battery-staple');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Logout' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.key .authorize:focus').waitFor();
  assert.equal((await execute(await unfold(page, 'Notes', 'createNote'))).status, '201');
  assert.deepEqual(faults, []);
});

test('without a script the pages say what the service is and where its description is', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`, { javaScriptEnabled: false });
  assert.ok(await page.getByText('A service that keeps notes').isVisible());
  assert.ok(await page.locator('.command', { hasText: `${service.url}/notes` }).isVisible());
  assert.equal(await page.locator('.copy').isVisible(), false);
  assert.ok(await page.getByText('is loaded by a script').isVisible());
  await page.locator('#problems').getByRole('link', { name: '404 Not Found' }).click();
  assert.ok(await page.getByRole('heading', { name: 'What to do' }).isVisible());
  assert.equal(await page.locator('[aria-current="page"]').textContent(), '404 Not Found');
  assert.deepEqual(faults, []);
});
