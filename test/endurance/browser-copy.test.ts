// The first call of the docs page in a real browser: it can be copied wherever the page is read.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_CLIPBOARD, open, pasted, skip } from '../support/browser.ts';
import { startService } from '../support/service.ts';

const service = await startService({ after });

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

test('docs page: the keyboard reaches the button that copies', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`, undefined, withoutOperations);
  const button = page.getByRole('button', { name: 'Copy the command' });
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Copied.').waitFor();
  const shown = await page.locator('.command code').textContent();
  assert.equal(await pasted(page), shown);
  assert.ok(shown?.endsWith(`'${service.url}/notes'`));
  assert.deepEqual(faults, []);
});

test('docs page: copies from a selection without a clipboard, or selects', { skip }, async (t) => {
  for (const [script, message] of [
    [NO_CLIPBOARD, 'Copied.'],
    [`${NO_CLIPBOARD} document.execCommand = () => false;`, 'The command is selected'],
  ] as const) {
    const { page, faults } = await open(t, `${service.url}/docs`, undefined, async (opened) => {
      await withoutOperations(opened);
      await opened.addInitScript(script);
    });
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await page.getByRole('status').getByText(message).waitFor();
    const isCopied = message === 'Copied.';
    const text = isCopied
      ? await pasted(page)
      : await page.evaluate<string>('String(getSelection())');
    assert.equal(text, await page.locator('.command code').textContent());
    assert.deepEqual(faults, []);
  }
});
