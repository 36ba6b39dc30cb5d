// The docs page in a real browser, as a smoke test. The other tests of the pages are
// test/endurance/browser-*.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execute, OPERATIONS, open, skip } from '../../support/browser.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';

test('docs page: renders every operation and creates a note', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  await block.locator('.execute').waitFor();
  const shown = await page.locator('.opblock-summary-control').allTextContents();
  const declared = OPERATIONS.map(({ method, path, summary }) => `${method}${path}${summary}`);
  assert.deepEqual(shown.sort(), declared.sort());

  const note = { title: 'From the page', body: '<b>"ünïcode" & 🗒</b>' };
  await block.locator('textarea').fill(JSON.stringify(note));
  const { text, ...answer } = await execute(block);
  assert.deepEqual(answer, { url: `${service.url}/notes`, status: '201' });
  const record = expected({ id: 1, ...note });
  assert.deepEqual(JSON.parse(text ?? ''), record);
  assert.deepEqual((await service.request('GET', '/notes/1')).json, record);
  assert.deepEqual(faults, []);
});
