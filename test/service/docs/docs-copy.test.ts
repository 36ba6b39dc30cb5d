// The first call on the docs page: it works where it is pasted, and can be copied wherever the page is read.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { open, skip } from '../../support/browser.ts';
import { startService } from '../../support/service.ts';

/** Pastes what was copied into a field of the page, as a reader would, and returns it. */
async function pasted(page: Page): Promise<string> {
  await page.locator('#operations-Notes-createNote .opblock-summary-control').click();
  const field = page.locator('#operations-Notes-createNote textarea');
  await field.fill('');
  await field.press('Control+V');
  return field.inputValue();
}

test('the call on the page makes a note when it is pasted into a shell', async (t) => {
  const service = await startService(t);
  const { text } = await service.request('GET', '/docs');
  const html = /<div class="command">\n<pre><code>(.*?)<\/code>/s.exec(text)?.[1] ?? '';
  const command = html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(code));
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  const note = { id: 1, title: 'Shopping list', body: 'Milk, bread, apples' };
  assert.deepEqual(JSON.parse(stdout), note);
  assert.deepEqual((await service.request('GET', '/notes/1')).json, note);
});

test('a base URL means nothing to the shell and to HTML, whatever is in it', async (t) => {
  const service = await startService(t, { baseUrl: "https://example.org/it's<b>$(id)&amp;" });
  const { text } = await service.request('GET', '/docs');
  const base = 'https://example.org/it%27s&#60;b&#62;$(id)&#38;amp;';
  assert.ok(text.includes(`'<span class="base-url">${base}</span>/notes'`));
});

test('the button copies the call, by keyboard too, and tells that it has', { skip }, async (t) => {
  const service = await startService(t);
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page, faults } = await open(t, `${service.url}/docs`, { permissions });
  const button = page.getByRole('button', { name: 'Copy the command' });
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Copied.').waitFor();
  const shown = await page.locator('.command code').textContent();
  assert.equal(await pasted(page), shown);
  assert.ok(shown?.endsWith(`'${service.url}/notes'`));
  assert.deepEqual(faults, []);
});

test('the call names the service as the reader has reached it', { skip }, async (t) => {
  const service = await startService(t);
  const here = service.url.replace('127.0.0.1', 'localhost');
  const { page, faults } = await open(t, `${here}/docs`);
  await page.getByRole('button', { name: 'Copy the command' }).waitFor();
  assert.ok((await page.locator('.command code').textContent())?.endsWith(`'${here}/notes'`));
  assert.deepEqual(faults, []);
});

test('where a page has no clipboard the call is copied from a selection', { skip }, async (t) => {
  const service = await startService(t);
  // As over http from another machine.
  const { page, faults } = await open(t, `${service.url}/docs`, {}, (opened) =>
    opened.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })"),
  );
  await page.getByRole('button', { name: 'Copy the command' }).click();
  await page.getByRole('status').getByText('Copied.').waitFor();
  assert.equal(await pasted(page), await page.locator('.command code').textContent());
  assert.deepEqual(faults, []);
});

test('where nothing may be copied the call is selected, and the reader is told', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs`, {}, (opened) =>
    opened.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined });
      document.execCommand = () => false;`),
  );
  await page.getByRole('button', { name: 'Copy the command' }).click();
  await page.getByRole('status').getByText('The command is selected').waitFor();
  const selected = await page.evaluate<string>('String(getSelection())');
  assert.equal(selected, await page.locator('.command code').textContent());
  assert.deepEqual(faults, []);
});
