// The pages for everyone, in a real browser: on small screens, by keyboard, by ear, without a
// script. Axe inspects them in every state.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { GUIDES } from '../../src/docs/guides.ts';
import { execute, type Opened, open, skip, unfold } from '../support/browser.ts';
import { contract } from '../support/contract.ts';
import { temporaryFolder } from '../support/engine.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const service = await startService({ after });

const SMALL_PHONE = { width: 320, height: 568 };
const PHONE = { width: 375, height: 812 };
const DESKTOP = { width: 1280, height: 900 };

const FAILED_404 = 'Failed to load resource: the server responded with a status of 404 (Not Found)';

/** More than there are places to stop at before the first operation. */
const MAX_STOPS = 40;

/** Asserts that axe finds nothing on the page as it is, in each of its appearances. */
async function assertAccessible(page: Page, state: string): Promise<void> {
  await page.evaluate(AXE);
  for (const viewport of [PHONE, DESKTOP]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await changeScheme(page, colorScheme);
      assert.deepEqual(await findings(page), [], `${state}, ${viewport.width} px, ${colorScheme}`);
    }
  }
}

async function findings(page: Page): Promise<string[]> {
  // Axe cannot preload a style sheet that is imported into a layer.
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>("axe.run({ resultTypes: ['violations'], preload: false })");
  return violations.map(({ id, impact, nodes }) => {
    return `${impact} ${id}: ${nodes.map(({ html }) => html).join('\n')}`;
  });
}

const IS_DARK = 'Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)) < 128';

/** Changes the colour scheme, and waits until all colours and transitions have followed. */
async function changeScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  const hasScript = (await page.locator('#swagger-ui').count()) > 0;
  const root = colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)';
  if (hasScript) await page.locator(root).waitFor({ state: 'attached' });
  await until(async () => (await page.evaluate(IS_DARK)) === (colorScheme === 'dark'));
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().map(({ finished }) => finished))',
  );
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth');
}

async function unfoldAll(page: Page): Promise<void> {
  await page.locator('.rules summary').click();
  const create = await unfold(page, 'Notes', 'createNote');
  await execute(create);
  await create.locator('.responses-wrapper button[data-name="model"]').click();
  await create.locator('.samples summary').click();
  await create.locator('.problems summary').click();
  await execute(await unfold(page, 'Comments', 'listComments'));
  await unfold(page, 'Export', 'exportRecords');
}

describe('docs page, in its states', { skip }, () => {
  let opened: Opened;
  before(async () => {
    // It is closed with the browser.
    opened = await open({ after() {} }, `${service.url}/docs`);
    await opened.page.locator('.opblock').first().waitFor();
  });

  test('docs page: axe finds nothing after loading', async () => {
    await assertAccessible(opened.page, 'as loaded');
  });

  test('docs page: axe finds nothing when no operation matches', async () => {
    const { page } = opened;
    await page.getByLabel('Filter operations').fill('xylophone');
    await page.getByRole('status').getByText('No operation has all these words.').waitFor();
    await assertAccessible(page, 'filtered');
    await page.getByLabel('Filter operations').fill('');
    await page.locator('.opblock').first().waitFor();
  });

  test('docs page: axe finds nothing with everything unfolded', async () => {
    await unfoldAll(opened.page);
    await assertAccessible(opened.page, 'unfolded');
    assert.deepEqual(opened.faults, []);
  });

  test('docs page: nothing scrolls sideways or is squeezed', async () => {
    const { page } = opened;
    for (const viewport of [SMALL_PHONE, PHONE, DESKTOP]) {
      await page.setViewportSize(viewport);
      assert.equal(await widthOf(page), viewport.width);
      for (const description of await page.locator('td.response-col_description:visible').all()) {
        const { width = 0 } = (await description.boundingBox()) ?? {};
        assert.ok(width > viewport.width / 2, `${width} at ${viewport.width} px`);
      }
    }
  });

  test('docs page: targets on a phone are large enough for a finger', async () => {
    const { page } = opened;
    await page.setViewportSize(PHONE);
    const selectors = ['.bar a', '.copy', '.rules summary', '.samples .btn', '.groups a'];
    for (const selector of [...selectors, '.opblock-summary-control', '.execute']) {
      const targets = await page.locator(selector).all();
      assert.ok(targets.length > 0, selector);
      for (const target of targets) {
        const { height = 0 } = (await target.boundingBox()) ?? {};
        assert.ok(height >= 40, `${await target.textContent()} is ${height} px high`);
      }
    }
  });
});

for (const path of ['', '/not-found', '/validation-failed', '/nothing']) {
  test(`problem page: axe finds nothing on /problems${path}`, { skip }, async (t) => {
    const { page, faults } = await open(t, `${service.url}/problems${path}`);
    await assertAccessible(page, path);
    const isUnknown = path === '/nothing';
    assert.deepEqual(faults, isUnknown ? [FAILED_404] : []);
    if (isUnknown) await page.locator('main').getByRole('link', { name: 'Problems' }).click();
    if (isUnknown) await page.waitForURL('**/problems');
  });
}

test('guides: axe finds nothing on any of them', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs/guides`);
  await assertAccessible(page, 'list');
  for (const [name] of GUIDES) {
    await page.goto(`${service.url}/docs/guides/${name}`);
    await assertAccessible(page, name);
  }
  assert.deepEqual(faults, []);
});

const OVERFLOWING = `[...document.querySelectorAll('.node')].flatMap((node) => {
  const box = node.querySelector('polygon').getBoundingClientRect();
  const texts = [...node.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
  return texts.filter((text) => text.left < box.left || text.right > box.right);
}).length`;

test('docs page: the texts of drawings fit into their boxes, and can be read', {
  skip,
}, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  for (const viewport of [SMALL_PHONE, PHONE, DESKTOP]) {
    await page.setViewportSize(viewport);
    assert.equal(await page.evaluate(OVERFLOWING), 0, `${viewport.width} px`);
    for (const text of await page.locator('.node text').all()) {
      const { height = 0 } = (await text.boundingBox()) ?? {};
      assert.ok(height >= 12, `${await text.textContent()} is ${height} px high`);
    }
  }
});

test('docs page: the keyboard leads to an operation and its answer', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.locator(':focus').textContent(), 'Skip to the operations');
  assert.ok(await page.locator(':focus').isVisible());
  await page.keyboard.press('Enter');
  await page.locator('#list:focus').waitFor();
  const MORE_STOPS = 4;
  await tabTo(page, page.locator('.opblock-summary-control').first(), MORE_STOPS);

  const operation = page.locator('#operations-Notes-createNote');
  await tabTo(page, operation.locator('.opblock-summary-control'));
  await page.keyboard.press('Enter');
  await tabTo(page, operation.getByLabel('Request body'));
  await tabTo(page, operation.locator('.execute'));
  await page.keyboard.press('Enter');
  await operation.getByRole('status').getByText('201 Created').waitFor();
  await tabTo(page, operation.locator('.samples summary'));
  await page.keyboard.press('Enter');
  await tabTo(page, operation.getByRole('button', { name: 'Python' }));
  await page.keyboard.press('Space');
  assert.match((await operation.locator('.samples code').textContent()) ?? '', /^from urllib/);
  await tabTo(page, operation.getByRole('button', { name: 'Copy code', exact: true }));
  await page.keyboard.press('Enter');
  await operation.locator('.samples').getByText('Copied.').waitFor();
  await tabTo(page, operation.locator('.problems summary'));
  await page.keyboard.press('Enter');
  await tabTo(page, operation.getByRole('link', { name: '400 Bad Request' }));
  assert.deepEqual(faults, []);
});

for (const viewport of [PHONE, DESKTOP]) {
  const size = `${viewport.width} px`;
  test(`docs page: Execute keeps the focus and announces the answer, ${size}`, {
    skip,
  }, async (t) => {
    const { page, faults } = await open(t, `${service.url}/docs`, { viewport });
    const operation = page.locator('#operations-Notes-getNote');
    const execute = operation.locator('.execute');
    const status = operation.getByRole('status').first();
    const answer = operation.locator('.answer');
    await page.locator('.opblock').first().waitFor();
    await operation.locator('.opblock-summary-control').focus();
    await page.keyboard.press('Enter');
    const id = operation.getByPlaceholder('note_id');
    await id.waitFor();
    /** Back from Execute, over the other inputs. */
    const backToId = async () => {
      do await page.keyboard.press('Shift+Tab');
      while (!(await id.evaluate((element) => element.matches(':focus'))));
    };
    await tabTo(page, id);
    await page.keyboard.type('9999');
    await tabTo(page, execute);
    await page.keyboard.press('Enter');
    await status.getByText('404 Not Found').waitFor();
    await answer.locator('code', { hasText: 'Note with ID 9999' }).waitFor();
    assert.ok(await execute.evaluate((element) => element.matches(':focus-visible')));
    for (const seen of [execute, answer.locator('code').first()])
      await assertInView(seen, viewport.height);

    await backToId();
    await page.keyboard.type('abc');
    await tabTo(page, execute);
    await page.keyboard.press('Enter');
    await status.getByText('Not sent. note_id must be an integer.').waitFor();
    assert.equal(await answer.count(), 0, 'the last answer is still there');
    assert.ok(await execute.evaluate((element) => element.matches(':focus-visible')));

    await backToId();
    await page.keyboard.type('8');
    await tabTo(page, execute);
    await page.keyboard.press('Enter');
    await status.getByText('404 Not Found').waitFor();
    await tabTo(page, operation.getByRole('button', { name: 'Clear' }));
    await page.keyboard.press('Enter');
    await answer.waitFor({ state: 'detached' });
    assert.ok(await execute.evaluate((element) => element.matches(':focus')));
    assert.equal(await status.textContent(), '');
    assert.deepEqual(faults, [FAILED_404, FAILED_404]);
  });
}

async function assertInView(target: Locator, viewportHeight: number): Promise<void> {
  const { y = -1, height = 0 } = (await target.boundingBox()) ?? {};
  assert.ok(y >= 0 && y + height <= viewportHeight, `${target}: ${y} + ${height} px`);
}

test('docs page: the buttons of the groups have their names', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  await page.getByRole('button', { name: 'Collapse Notes', exact: true }).press('Enter');
  const button = page.getByRole('button', { name: 'Expand Notes', exact: true });
  await button.waitFor();
  const collapse = page.getByRole('button', { name: /^Collapse \w+$/ });
  assert.equal(await collapse.count(), contract.tags.length - 1);
  assert.equal(await page.getByRole('button', { name: /operation/ }).count(), 0);
  await page.setViewportSize(PHONE);
  const { x = 0, width = 0 } = (await button.boundingBox()) ?? {};
  assert.ok(x + width > PHONE.width - 40, `the arrow ends at ${x + width} px`);
});

test('docs page: without a script it says what the service is', { skip }, async (t) => {
  const options = { javaScriptEnabled: false };
  const { page, faults } = await open(t, `${service.url}/docs`, options);
  assert.ok(await page.getByText('A service that stores notes').isVisible());
  assert.ok(await page.locator('.command', { hasText: `${service.url}/notes` }).isVisible());
  assert.equal(await page.locator('.copy').isVisible(), false);
  assert.ok(await page.locator('noscript p', { hasText: 'requires JavaScript' }).isVisible());
  assert.equal(await page.getByText('Loading').count(), 0);
  await page.locator('.bar').getByRole('link', { name: 'Problems' }).click();
  await page.getByRole('link', { name: 'not-found', exact: true }).click();
  assert.ok(await page.getByRole('heading', { name: 'What to do' }).isVisible());
  assert.deepEqual(faults, []);
});
test('problem page: a long type does not make it scroll sideways', { skip }, async (t) => {
  const service = await startService(t, {
    problemBase: `https://errors.example/${'kinds'.repeat(20)}`,
  });
  for (const slug of ['request-header-fields-too-large', 'validation-failed']) {
    const { page } = await open(t, `${service.url}/problems/${slug}`, { viewport: SMALL_PHONE });
    assert.equal(await widthOf(page), SMALL_PHONE.width, slug);
  }
});

test('docs page: the form for keys says what the key may do, or that it is wrong', {
  skip,
}, async (t) => {
  const apiKeysFile = join(temporaryFolder(t), 'keys');
  writeFileSync(
    apiKeysFile,
    'reading name=agent access=read expires=2999-03-01\nold expires=2020-01-01\nall',
  );
  const service = await startService(t, { apiKeysFile });
  const { page, faults } = await open(t, `${service.url}/docs`);
  const form = page.locator('form');
  await form.waitFor();
  await tabTo(page, form.getByLabel('API key'));
  const block = await unfold(page, 'Notes', 'createNote');
  for (const [key, state, status] of [
    ['wrong', 'This key is not known.', '401'],
    ['old', 'The key has expired.', '401'],
    ['reading', 'The key agent may only read. It expires at 2999-03-01T23:59:59Z.', '403'],
    ['all', 'This key may read and write. It never expires.', '201'],
    ['', '', '401'],
  ] as const) {
    await form.getByLabel('API key').fill(key);
    await form.getByLabel('API key').press('Enter');
    await form.getByRole('status').getByText(state, { exact: true }).waitFor({ state: 'attached' });
    if (key === 'reading') await assertAccessible(page, 'key');
    assert.equal((await execute(block)).status, status, key);
  }
  assert.ok(
    faults.every((fault) => /status of 40[13]/.test(fault)),
    faults.join(),
  );
});

async function tabTo(page: Page, target: Locator, stops = MAX_STOPS): Promise<void> {
  const isFocused = () => target.evaluate((element) => element.matches(':focus-visible'));
  for (let stop = 0; stop < stops && !(await isFocused()); stop += 1) {
    await page.keyboard.press('Tab');
  }
  assert.ok(await isFocused(), `${target} is not reached`);
  const outline = await target.evaluate(
    (element) => element.ownerDocument.defaultView?.getComputedStyle(element).outline,
  );
  assert.match(String(outline), /solid 3px/, `${target} does not show that it has the focus`);
}
