// The docs page in a real browser, whose requests are carried out while their answers are lost.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { execute, open, skip, unfold } from '../support/browser.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = await startService({ after });

for (const [group, id, path] of [
  ['Notes', 'createNote', '/notes'],
  ['Notes', 'appendToNote', '/notes/1/append'],
  ['Tags', 'createTag', '/tags'],
] as const)
  test(`docs page: ${id} whose answer is lost is carried out once`, { skip }, async (t) => {
    const { url, request } = await startService(t);
    await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
    const { page } = await open(t, `${url}/docs#/${group}/${id}`);
    const block = page.locator(`#operations-${group}-${id}`);
    const status = block.locator('.execution-status');
    const keys: (string | undefined)[] = [];
    let faults = ['lost', 'lost', '503'];
    await page.route(`**${path}`, async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      const fault = faults.shift();
      if (fault !== 'lost')
        return fault ? route.fulfill({ status: 503, json: {} }) : route.continue();
      await route.fetch();
      return route.abort();
    });
    const body = async () =>
      JSON.stringify((await request('GET', path.replace('/append', ''))).json);
    const before = await body();
    await block.locator('.execute').click();
    const told =
      'There was no answer. The request may have been carried out. It had an idempotency-key,';
    await status.getByText(told).waitFor();
    const once = await body();
    assert.notEqual(once, before);
    await block.locator('.execute').click();
    await until(() => keys.length === 2);
    await status.getByText(told).waitFor();
    assert.equal((await execute(block)).status, '503');
    assert.match((await execute(block)).status, /^20/);
    await block.locator('.answer').getByText('idempotent-replayed: true').waitFor();
    assert.equal(await body(), once);
    assert.equal(new Set(keys).size, 1);
    assert.match(keys[0] ?? '', /^[\w-]{20,}$/);
    // After an answer, the same inputs are another request.
    await execute(block);
    assert.equal(new Set(keys).size, 2);
    faults = ['lost'];
    await block.locator('.execute').click();
    await status.getByText(told).waitFor();
    // So are other inputs.
    await block.locator('textarea').fill('{}');
    await execute(block);
    assert.equal(new Set(keys).size, 4);
  });

test('docs page: a lost answer of a write without a key is named as such', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  for (const [tag, id] of [
    ['Notes', 'replaceNote'],
    ['Tags', 'patchTag'],
    ['Tags', 'deleteTag'],
  ] as const) {
    const block = await unfold(page, tag, id);
    await page.route(`**/${tag.toLowerCase()}/*`, (route) => route.abort());
    await block.locator('.execute').click();
    const told = 'There was no answer. The request may have been carried out. Check';
    await block.getByRole('status').getByText(told).waitFor();
  }
});
