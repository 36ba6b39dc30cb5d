// The operations of the docs page in a real browser: what finds them, what they say about their
// parameters and answers, and what a reader sees on a slow line or without the service.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { execute, OPERATIONS, open, skip, unfold } from '../support/browser.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = await startService({ after });

const WIDTHS = [390, 1280];

/** What is looked for, and the operations that have it. */
const FOUND: readonly (readonly [string, readonly string[]])[] = [
  // In a description, also that of a group, and in a summary.
  ['search', ['listNotes', 'listNotesOfTag', 'callTool']],
  [
    'demo',
    OPERATIONS.filter(({ tags }) => tags[0] === 'Concurrency').map((each) => each.operationId),
  ],
  ['shared counter', ['runCounter']],
  // In a path, and in an operation's id.
  ['/notes/{note_id}/tags', ['listTagsOfNote', 'tagNote', 'untagNote']],
  ['deletecomment', ['deleteComment']],
  // In the name of a parameter or its description.
  ['last-event-id', ['listChanges']],
  ['uuid createcomment', ['createComment']],
  // In a member of a request or an answer.
  ['old_text', ['editNote', 'editNamedNote']],
  ['erased_at', ['listTrash', 'getDeletedNote']],
];

const idsOf = (page: Page) =>
  page
    .locator('.opblock')
    .evaluateAll((blocks) => blocks.map(({ id }) => id.replace(/^operations-\w+-/, '')).sort());

test('docs page: the filter finds operations by all that they say', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  const filter = page.getByLabel('Filter operations');
  const status = page.locator('#list').getByRole('status').first();
  await page.locator('.opblock').first().waitFor();
  for (const [phrase, ids] of FOUND) {
    await filter.fill(phrase);
    await until(async () => `${await idsOf(page)}` === `${[...ids].sort()}`);
    assert.equal(await status.textContent(), `${ids.length} of ${OPERATIONS.length} operations`);
    const groups = OPERATIONS.filter(({ operationId }) => ids.includes(operationId));
    assert.deepEqual(
      new Set(await page.locator('.opblock-tag > span').allTextContents()),
      new Set(groups.map(({ tags }) => tags[0])),
    );
  }
  await filter.fill('tag');
  await until(async () => (await page.locator('.opblock').count()) > 30);
  const found = await idsOf(page);
  for (const id of ['listTags', 'createNote', 'tagNote']) assert.ok(found.includes(id), id);
  await filter.fill('xylophone');
  await status.getByText('No operation has all these words.').waitFor();
  assert.equal(await page.locator('.opblock, .opblock-tag').count(), 0);
  await page.keyboard.press('Escape');
  await until(async () => (await page.locator('.opblock').count()) === OPERATIONS.length);
  assert.equal(await status.textContent(), '');

  await filter.fill('xylophone');
  await page.getByRole('link', { name: 'History' }).click();
  assert.ok(await page.locator(':target', { hasText: 'History' }).isVisible());
  assert.deepEqual(faults, []);
});

test('docs page: what a parameter may be stands beside it', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/listNotes`);
  const block = page.locator('#operations-Notes-listNotes');
  for (const [name, text] of [
    ['limit', 'Default: 20. Minimum: 1. Maximum: 100.'],
    ['order', 'Values: id, -id, updated, -updated, created, -created, name, -name, rank.'],
    ['q', 'Minimum length: 1. Maximum length: 500.'],
    ['tag_id', 'Maximum number of items: 10.'],
    ['if-match', 'Must be * or a list of quoted entity tags.'],
  ] as const)
    await block.locator(`tr[data-param-name="${name}"]`).getByText(text).waitFor();
  assert.deepEqual(faults, []);
});

test('docs page: a wrong value gets the sentence of the service', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const tags = '* or a list of quoted entity tags';
  for (const [tag, id, name, wrong, rule] of [
    ['Notes', 'getNote', 'if-match', 'abc', tags],
    ['Notes', 'getNote', 'if-none-match', '5', tags],
    ['Notes', 'createNote', 'idempotency-key', 'ä', '1 to 128 letters, digits or characters'],
    ['Comments', 'listComments', 'created_after', 'today', 'a time such as 2026-11-22T09:30:00Z'],
    ['Changes', 'listChanges', 'since', 'abc', 'a cursor from "next"'],
    ['Changes', 'listChanges', 'last-event-id', 'abc', 'the id of an event'],
    ['Health', 'getLivez', 'verbose', 'abc', 'an empty text or 1 or true'],
    ['Tags', 'listTags', 'limit', '101', 'at most 100'],
  ] as const) {
    const block = page.locator(`#operations-${tag}-${id}`);
    if ((await block.locator('.samples').count()) === 0) await unfold(page, tag, id);
    const input = block.getByPlaceholder(name, { exact: true });
    await input.fill(wrong);
    const { status, text } = await execute(block);
    assert.match(status, /^4/, name);
    assert.ok(JSON.parse(text ?? '').detail.includes(`must be ${rule}`), `${name}: ${text}`);
    assert.equal(/.{0,30}\^.*/.exec(await block.innerText())?.[0], undefined, name);
    await input.fill('');
  }
  const block = page.locator('#operations-Notes-getNote');
  await block.getByPlaceholder('if-match').fill('"€"');
  await block.locator('.execute').click();
  await block.getByRole('status').getByText('Not sent. A header').waitFor();
});

test('docs page: a name with slashes is sent, and shown as people write it', {
  skip,
}, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const name = "Projekte/Küche/50% & it's #1?.md";
  const path = '/named/Projekte/K%C3%BCche/50%25%20%26%20it%27s%20%231%3F.md';
  for (const [id, status, suffix] of [
    ['putNamedNote', '201', ''],
    ['getNamedNote', '200', ''],
    ['appendToNamedNote', '200', '/append'],
  ] as const) {
    const block = await unfold(page, 'Notes', id);
    await block.getByPlaceholder('name', { exact: true }).fill(name);
    await block.locator('.samples summary').click();
    const code = await block.locator('.samples code').innerText();
    assert.ok(code.includes(`'${service.url}${path}${suffix}'`), code);
    assert.equal((await execute(block)).status, status, id);
  }
  const read = await service.request('GET', `/named/${encodeURIComponent(name)}?include=name`);
  assert.equal(read.json.name, name);
  assert.deepEqual(faults, []);
});

test('docs page: what may not end is a command', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs#/Changes/listChanges`);
  const changes = page.locator('#operations-Changes-listChanges');
  const button = changes.locator('.execute');
  const code = changes.locator('.samples code');
  const types = changes.getByLabel('Media type');
  await button.waitFor();
  await types.selectOption('text/event-stream');
  await changes.getByRole('status').getByText('by this command').waitFor();
  assert.equal(await button.count(), 0);
  const [url, accept] = [`${service.url}/changes`, "-H 'accept: text/event-stream'"];
  assert.equal(await code.innerText(), `curl -N ${accept} '${url}'`);
  await types.selectOption('application/json');
  await button.waitFor();
  await changes.getByPlaceholder('wait').fill('30');
  await button.waitFor({ state: 'detached' });
  assert.equal(await code.innerText(), `curl '${url}?wait=30'`);
  await changes.getByPlaceholder('wait').fill('0');
  assert.equal((await execute(changes)).status, '200');
  const records = await unfold(page, 'Export', 'exportRecords');
  assert.equal(await records.locator('.execute').count(), 0);
  assert.equal(await records.locator('.samples code').innerText(), `curl '${service.url}/export'`);
  assert.deepEqual(faults, []);
});

for (const width of WIDTHS) {
  const viewport = { width, height: 900 };
  test(`docs page: the answer stands below Execute, ${width} px`, { skip }, async (t) => {
    const { page } = await open(t, `${service.url}/docs#/Tags/listTags`, { viewport });
    const block = page.locator('#operations-Tags-listTags');
    await execute(block);
    const tops: number[] = [];
    for (const part of ['.execute', '.execution-status', '.answer', '.samples', '.responses-table'])
      tops.push((await block.locator(part).boundingBox())?.y ?? Number.NaN);
    assert.deepEqual(
      tops,
      [...tops].sort((one, other) => one - other),
    );
    const [execution = 0, , answer = 0] = tops;
    assert.ok(answer - execution < 120, `${tops}`);
  });

  test(`docs page: texts do not touch, ${width} px`, { skip }, async (t) => {
    const { page } = await open(t, `${service.url}/docs`, { viewport });
    await page.locator('.opblock').first().waitFor();
    for (const [tag, id] of [
      ['Notes', 'listNotes'],
      ['Notes', 'createNote'],
    ] as const) {
      const block = await unfold(page, tag, id);
      for (const button of await block.locator('button[data-name="model"]').all())
        await button.click();
      await block.locator('.json-schema-2020-12__title').first().waitFor();
      assert.deepEqual(await page.evaluate(TOUCHING), [], id);
    }
  });
}

/** Finds parts of parameters and models that are closer than a space, beside or above another. */
const TOUCHING = `(() => {
  const parts = [
    ...['parameter__name', 'parameter__type', 'parameters-col_description .renderedMarkdown'],
    ...['title', 'attribute', 'constraint'].map((part) => 'json-schema-2020-12__' + part),
    'json-schema-2020-12-keyword--description',
  ].map((name) => '.opblock .' + name + ', .opblock input, .opblock select').join();
  const boxes = [...document.querySelectorAll(parts)].flatMap((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const isText = element.textContent !== '' && element.tagName !== 'SELECT';
    const rects = isText ? range.getClientRects() : element.getClientRects();
    return [...rects].map((rect) => ({ element, rect }));
  });
  const isClose = (one, other) =>
    Math.max(one.left, other.left) - Math.min(one.right, other.right) < 4 &&
    Math.max(one.top, other.top) - Math.min(one.bottom, other.bottom) < 1;
  return boxes.flatMap((one, index) =>
    boxes.slice(index + 1)
      .filter(({ element, rect }) => element !== one.element && isClose(one.rect, rect))
      .map(({ element }) => one.element.outerHTML + ' touches ' + element.outerHTML));
})()`;

const FILES = ['docs/swagger-ui-bundle.js', 'docs/adjustments.js', 'openapi.json'];
for (const file of FILES) {
  test(`docs page: says that it is loading while ${file} is, or that it failed`, {
    skip,
  }, async (t) => {
    const held: Route[] = [];
    const { page } = await open(t, `${service.url}/problems`, {});
    await page.route(`**/${file}`, (route) => void held.push(route));
    await page.goto(`${service.url}/docs`, { waitUntil: 'commit' });
    const host = page.locator('#swagger-ui');
    await host.getByText('Loading the operations.').waitFor();
    await until(() => held.length > 0);
    for (const route of held.splice(0)) await route.continue();
    await page.locator('.opblock').first().waitFor();
    assert.equal(await page.getByText('Loading').count(), 0);

    await page.reload({ waitUntil: 'commit' });
    await until(() => held.length > 0);
    for (const route of held.splice(0)) await route.abort();
    await host.getByText('The operations could not be loaded.').waitFor();
    assert.equal(await page.getByText('Loading').count(), 0);
  });
}

test('docs page: a service that is gone, or refuses its description, is named', {
  skip,
}, async (t) => {
  const service = await startService(t);
  const { page } = await open(t, `${service.url}/docs#/Tags/listTags`, {});
  const block = page.locator('#operations-Tags-listTags');
  assert.equal((await execute(block)).status, '200');
  await service.close();
  await block.locator('.execute').click();
  await block.getByRole('status').getByText('The service could not be reached.').waitFor();
  assert.equal(await block.locator('.answer').count(), 0);
  const busy = (page: Page) =>
    page.route('**/openapi.json', (route) => route.fulfill({ status: 503, json: {} }));
  const other = await open(t, `${(await startService(t)).url}/docs`, {}, busy);
  await other.page.getByText('The operations could not be loaded.').waitFor();
});
