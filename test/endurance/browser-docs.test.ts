// The docs page in a real browser: every operation is tried, and the pages work behind a proxy.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { after, test } from 'node:test';
import type { Locator, Route } from 'playwright-core';
import { execute, OPERATIONS, open, skip, unfold } from '../support/browser.ts';
import { contract } from '../support/contract.ts';
import { startListener } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = await startService({ after });

test('docs page: groups are those of the contract', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  assert.equal(await page.locator('.key').count(), 0, 'no key is required');
  const groups = contract.tags.map(({ name, description }) => ({ name, description }));
  assert.deepEqual(
    await page.locator('.opblock-tag > span').allTextContents(),
    groups.map(({ name }) => name),
  );
  assert.deepEqual(
    await page.locator('.opblock-tag small').allTextContents(),
    groups.map(({ description }) => description),
  );
  const rules = page.locator('.rules');
  assert.equal(await rules.locator('li').first().isVisible(), false);
  await rules.locator('summary').click();
  assert.ok(await rules.locator('li', { hasText: 'authorization: Bearer KEY' }).isVisible());
  for (const { name } of groups) {
    await page.getByRole('navigation', { name: 'Groups' }).getByRole('link', { name }).click();
    await page.waitForURL(`**/docs#operations-tag-${name}`);
    assert.ok(await page.locator(':target', { hasText: name }).isVisible());
  }
  assert.deepEqual(faults, []);
});

test('docs page: every operation succeeds with its prefilled values', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  // Other operations need what is created first and deleted last.
  const isDelete = ({ method }: { method: string }) => method === 'DELETE';
  const byDepth = (one: { path: string }, other: { path: string }) =>
    other.path.length - one.path.length;
  const deletes = OPERATIONS.filter(isDelete).sort(byDepth);
  const creates = OPERATIONS.filter(({ operationId }) => /^create|^putNamed/.test(operationId));
  const others = OPERATIONS.filter((each) => !isDelete(each) && !creates.includes(each)).filter(
    // This service has no keys, and an export is not tried.
    ({ operationId }) => !['getKey', 'exportRecords'].includes(operationId),
  );
  // Of note 1, change 12 makes a text that becomes a version.
  for (let name = 1; name < 12; name += 1)
    await service.request('POST', '/tags', { json: { name: `${name}` } });
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  await service.request('PATCH', '/notes/1', { json: { body: 'c' } });
  for (const { tags, operationId } of [...creates, ...others, ...deletes]) {
    if (/DeletedNote$/.test(operationId)) await service.request('DELETE', '/notes/1');
    const block = await unfold(page, tags[0], operationId);
    const { status } = await execute(block);
    assert.match(status, /^2\d\d$/, operationId);
    // Many unfolded operations slow down the page.
    await block.locator('.opblock-summary-control').click();
  }
  assert.deepEqual(faults, []);
});

test('docs page: an operation shows its answer and links problems', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs`);
  const block = await unfold(page, 'Notes', 'getNote');
  const codes = block
    .locator('tr.response')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-code')));
  assert.deepEqual(await codes, ['200', '304']);
  const answer = block.locator('tr.response[data-code="200"]');
  const example = await answer.locator('pre.example').textContent();
  assert.match(example ?? '', /"title": "Shopping list"/);
  const docs = await unfold(page, 'Documentation', 'getDocs');
  assert.match(
    (await docs.locator('tr.response pre.example').textContent()) ?? '',
    /<!doctype html>/,
  );
  const link = block.getByRole('link', { name: '404 Not Found' });
  assert.equal(await link.isVisible(), false);
  await block.locator('.problems summary').click();
  await link.click();
  await page.waitForURL(`${service.url}/problems/not-found`);
  assert.equal(await page.locator('h1').textContent(), '404 Not Found');
  assert.deepEqual(faults, []);
});

test('docs page: a link to an operation opens it', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs#/Comments/listComments`);
  const block = page.locator('#operations-Comments-listComments');
  await block.locator('tr[data-param-name="limit"]').waitFor();
  const names = await block.locator('.parameter__name').allTextContents();
  assert.deepEqual(
    names.map((text) => text.replace(/[^\w-].*/, '')),
    [
      ...['note_id', 'order', 'limit', 'offset', 'after', 'before'],
      ...['created_after', 'created_before', 'updated_after', 'updated_before'],
      ...['fields', 'include', 'if-match', 'if-none-match'],
    ],
  );
  const answer = block.locator('.responses-table .response[data-code="200"]');
  await answer.locator('button[data-name="model"]').click();
  const schema = await answer.locator('[data-name="modelPanel"]').textContent();
  for (const word of ['CommentList', 'items', 'total', '[1, 100]']) {
    assert.ok(schema?.includes(word), word);
  }
  assert.deepEqual(faults, []);
});

const INTERPRETERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  curl: ['sh'],
  JavaScript: [process.execPath, '--input-type=module'],
  Python: ['python3', '-'],
};

async function runSample(block: Locator, language: string): Promise<string> {
  const [command, ...args] = INTERPRETERS[language] ?? assert.fail(language);
  await block.getByRole('button', { name: language }).click();
  const code = (await block.locator('.samples code').textContent()) ?? '';
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(code);
  return Buffer.concat(await child.stdout.toArray()).toString();
}

test('docs page: code samples send what the page would', { skip }, async (t) => {
  const service = await startService(t, { apiKeys: ['KEY'] });
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  const sent = { title: 'it\'s "$(1)" \\ `', body: "'''\n\\" };
  await block.locator('textarea').fill(JSON.stringify(sent, null, 2));
  await block.locator('.samples summary').click();
  for (const language of Object.keys(INTERPRETERS)) {
    const output = await runSample(block, language);
    const note = JSON.parse(output.slice(output.indexOf('{'))) as typeof sent;
    assert.deepEqual({ title: note.title, body: note.body }, sent, language);
  }
  const list = await unfold(page, 'Comments', 'listComments');
  await list.getByPlaceholder('note_id').fill('3');
  await list.locator('.samples summary').click();
  const curl = await list.locator('.samples code').textContent();
  const url = `${service.url}/notes/3/comments`;
  assert.equal(curl, `curl -H 'authorization: Bearer KEY' '${url}'`);
  const health = await unfold(page, 'Health', 'getHealth');
  await health.locator('.samples summary').click();
  assert.equal(await health.locator('.samples code').textContent(), `curl '${service.url}/health'`);
  assert.deepEqual(faults, []);
});

test('docs page: a patch is sent under its condition', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs#/Tags/patchTag`);
  const { id } = (await service.request('POST', '/tags', { json: { name: 'a' } })).json;
  const { etag = '' } = (await service.request('GET', `/tags/${id}`)).headers;
  const block = page.locator('#operations-Tags-patchTag');
  await block.getByPlaceholder('tag_id').fill(String(id));
  await block.getByPlaceholder('if-match').fill(etag);
  await block.locator('textarea').fill('{"name":"b"}');
  await block.locator('.samples summary').click();
  const options = [
    ...['-X PATCH', `-H 'content-type: application/merge-patch+json'`, `-H 'if-match: ${etag}'`],
    ...[`--data-raw '{"name":"b"}'`, `'${service.url}/tags/${id}'`],
  ];
  const sample = await block.locator('.samples code').textContent();
  assert.equal(sample, `curl ${options.join(' \\\n  ')}`);
  const { status, text } = await execute(block);
  assert.deepEqual([status, JSON.parse(text ?? '')], ['200', { id, name: 'b' }]);
  assert.deepEqual(faults, []);
  await block.locator('.execute').click();
  await block.getByRole('status').getByText('412 Precondition Failed').waitFor();
});

test('docs page: a list with filters is sent as its samples show', { skip }, async (t) => {
  const service = await startService(t);
  for (const name of ['a', 'b']) await service.request('POST', '/tags', { json: { name } });
  const note = { title: 'Shopping', body: 'Milk, bread' };
  for (const tag_ids of [[1], [1, 2]])
    await service.request('POST', '/notes', { json: { ...note, tag_ids } });
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/listNotes`);
  const block = page.locator('#operations-Notes-listNotes');
  await block.getByPlaceholder('q', { exact: true }).fill('milk');
  const tag = block.locator('tr[data-param-name="tag_id"]');
  for (const index of [0, 1, 2]) {
    await tag.getByRole('button', { name: 'Add integer item' }).press('Enter');
    await tag
      .getByRole('textbox')
      .nth(index)
      .fill(String(index + 1));
  }
  await tag.getByRole('button', { name: 'Remove this item' }).last().press('Enter');
  const include = block.locator('tr[data-param-name="include"] select');
  await include.selectOption(['tag_ids', 'snippet']);
  const query = 'tag_id=1&tag_id=2&q=milk&include=tag_ids,snippet';
  await block.locator('.samples summary').click();
  const sample = block.locator('.samples code', { hasText: query });
  assert.equal(await sample.textContent(), `curl '${service.url}/notes?${query}'`);
  const { url, status, text } = await execute(block);
  assert.deepEqual([url, status], [`${service.url}/notes?${query}`, '200']);
  const snippet = { text: 'Milk, bread', ranges: [[0, 4]] };
  assert.deepEqual(JSON.parse(text ?? '').items, [{ id: 2, ...note, tag_ids: [1, 2], snippet }]);
  await include.selectOption([]);
  await block.getByPlaceholder('after', { exact: true }).fill('1');
  await block.locator('tr[data-param-name="order"] select').selectOption('id');
  assert.equal((await execute(block)).status, '200');
  assert.deepEqual(faults, []);
});

test('docs page: lines of records are created, by each sample too', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  await block.getByLabel('Request content type').selectOption('application/x-ndjson');
  const lines = await block.locator('textarea').inputValue();
  assert.equal(lines.split('\n').length, 2);
  const { status, text } = await execute(block);
  assert.deepEqual([status, text?.trim().split('\n').length], ['201', 2]);
  await block.locator('.samples summary').click();
  for (const language of Object.keys(INTERPRETERS)) await runSample(block, language);
  assert.equal((await service.request('GET', '/notes')).json.total, 8);
  assert.deepEqual(faults, []);
});

test('docs page: says that an empty body is not sent', { skip }, async (t) => {
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  const status = block.locator('.execution-status');
  await block.locator('textarea').fill('');
  await block.locator('.execute').click();
  await status.getByText('Not sent. The request body is empty.').waitFor();
  await block.locator('textarea').fill('{"title": "Not empty", "body": "Any"}');
  assert.equal((await execute(block)).status, '201');
  await status.getByText('201 Created').waitFor();
  assert.deepEqual(faults, []);
});

test('docs page: sends one request at a time, and says if it fails', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  const status = block.locator('.execution-status');
  const held: Route[] = [];
  await page.route('**/notes', (route) => void held.push(route));
  await block.locator('.execute').dblclick();
  await status.getByText('Sending the request.').waitFor();
  await block.locator('.execute').click();
  await until(() => held.length > 0);
  await held[0]?.abort();
  await status.getByText('There was no answer.').waitFor();
  assert.equal(held.length, 1);
});

test('docs page: a redirect is documented', { skip }, async (t) => {
  const { page } = await open(t, `${service.url}/docs`);
  await page.locator('.opblock').first().waitFor();
  const block = await unfold(page, 'Documentation', 'getRoot');
  assert.equal((await execute(block)).status, '200');
  await block.getByRole('status').getByText('200 OK, after a redirect to').waitFor();
});

test('docs page: tries requests under any name of the server', { skip }, async (t) => {
  const service = await startService(t);
  const here = service.url.replace('127.0.0.1', 'localhost');
  const { page, faults } = await open(t, `${here}/docs#/Notes/createNote`);
  assert.match(
    (await page.locator('.command code').textContent()) ?? '',
    new RegExp(`'${here}/notes'$`),
  );
  const block = page.locator('#operations-Notes-createNote');
  const sent = { title: 'From the page', body: '<b>"ünïcode" & 🗒</b>' };

  await block.locator('textarea').fill(JSON.stringify(sent));
  const { text: created, ...answer } = await execute(block);
  assert.deepEqual(answer, { url: `${here}/notes`, status: '201' });
  assert.deepEqual(JSON.parse(created ?? ''), { id: 1, ...sent });
  assert.deepEqual((await service.request('GET', '/notes/1')).json, { id: 1, ...sent });
  assert.deepEqual(faults, []);
});

test('docs page: works below a path, behind a proxy', { skip }, async (t) => {
  const origin = await startListener(t, (message, response) => {
    const { method, headers, url = '' } = message;
    const path = url.startsWith('/below/') ? url.slice('/below'.length) : '/not-below';
    const target = { host: '127.0.0.1', port: below.port, method, path, headers };
    const onward = request(target, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    message.pipe(onward);
  });
  const baseUrl = `${origin}/below`;
  const below = await startService(t, { baseUrl });

  const { page, faults } = await open(t, `${baseUrl}/problems/not-found`);
  await page.getByRole('link', { name: 'notes-server' }).click();
  await page.waitForURL(`${baseUrl}/docs`);
  const command = await page.locator('.command code').textContent();
  assert.ok(command?.endsWith(`'${baseUrl}/notes'`), String(command));
  const { url, text } = await execute(await unfold(page, 'Health', 'getHealth'));
  assert.equal(url, `${baseUrl}/health`);
  assert.deepEqual(JSON.parse(text ?? ''), { status: 'ok', db: 'ok' });
  await page.goto(`${baseUrl}/docs/guides/undoing`);
  await page.locator('.base-url', { hasText: baseUrl }).first().waitFor();
  assert.deepEqual(faults, []);
});
