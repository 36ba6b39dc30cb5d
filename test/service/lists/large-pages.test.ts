// Pages of several megabytes: they are the same as small ones, and take memory only while there is
// room.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { JSON_LINES } from '../../../src/http/body/formats.ts';
import { unavailable } from '../../../src/http/problem.ts';
import { Pages } from '../../../src/lists/pages.ts';
import { listRoutes } from '../../../src/lists/route.ts';
import { notes } from '../../../src/resources/notes.ts';
import { type Database, MAX_PAGE_BYTES } from '../../../src/storage/database.ts';
import { NO_MEMORY } from '../../../src/storage/writer.ts';
import { EMPTY_CALL } from '../../support/bare-server.ts';
import { openDatabase } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { listsOf, tableOf } from '../../support/tables.ts';

/** Six bytes for each character in JSON. */
const BODY = '\u0001'.repeat(100_000);
const COUNT = Math.ceil(MAX_PAGE_BYTES / (6 * BODY.length));

const started = startService({ after }).then(async (service) => {
  const json = { title: 'milk "東京"', body: BODY };
  const texts: string[] = [];
  for (let count = 0; count < COUNT; count += 1)
    texts.push((await service.request('POST', '/notes', { json })).text);
  await service.request('POST', '/notes', { json: { title: 'small', body: 'small' } });
  return { service, texts };
});

test('large pages: are the texts of their records, also beside small pages', async () => {
  const { service, texts } = await started;
  const path = `/notes?limit=${COUNT}`;
  const [page, small, again] = await Promise.all([
    service.request('GET', path),
    service.request('GET', `/notes?limit=1&offset=${COUNT}`),
    service.request('GET', path),
  ]);
  const end = `],"limit":${COUNT},"offset":0,"total":${COUNT + 1}}`;
  assert.equal(page.text, `{"items":[${texts.join(',')}${end}`);
  assert.equal(again.text, page.text);
  const lines = await service.request('GET', path, { headers: { accept: JSON_LINES } });
  assert.equal(lines.text, `${texts.join('\n')}\n`);
  assert.equal(lines.headers['content-type'], JSON_LINES);
  assert.equal(small.json.items[0].title, 'small');
  const head = await service.request('HEAD', path);
  for (const name of ['content-length', 'content-type', 'etag', 'link'])
    assert.equal(head.headers[name], page.headers[name], name);
  assert.equal(Number(page.headers['content-length']), page.bytes.length);
  const headers = { 'if-none-match': String(page.headers.etag) };
  assert.equal((await service.request('GET', path, { headers })).status, 304);
});

test('large pages: snippets are added to the texts', async () => {
  const { service, texts } = await started;
  const path = `/notes?q=milk&include=snippet&order=id&limit=${COUNT}`;
  const { text } = await service.request('GET', path);
  const snippet = '"snippet":{"text":"milk \\"東京\\"","ranges":[[0,4]]}';
  const items = texts.map((record) => `${record.slice(0, -1)},${snippet}}`).join(',');
  assert.equal(text, `{"items":[${items}],"limit":${COUNT},"offset":0,"total":${COUNT}}`);
  const { text: cut } = await service.request('GET', `${path}&fields=id`);
  const ids = texts.map((record) => `{"id":${JSON.parse(record).id},${snippet}}`).join(',');
  assert.equal(cut, `{"items":[${ids}],"limit":${COUNT},"offset":0,"total":${COUNT}}`);
});

test('large pages: wait for room', {
  skip: needsFile,
}, async (t) => {
  const database = await openDatabase(t);
  await tableOf(notes, database).create(Array.from({ length: COUNT }, () => ({ body: BODY })));
  const pages = new Pages(listsOf(notes), database);
  const bases = { baseUrl: 'http://a', problemBase: '' };
  const [list = assert.fail()] = listRoutes({ pages, memory: NO_MEMORY, bases });
  const full = unavailable('full');
  await assert.rejects(
    async () => list.handle({ ...EMPTY_CALL, reserveLarge: () => Promise.reject(full) }),
    full,
  );
  const { body, large } = await list.handle(EMPTY_CALL);
  assert.ok(large && body === undefined);
  assert.equal(large.filter(({ length }) => length > BODY.length).length, COUNT);
});

test('large pages: are read again if the engine has lost rows', { skip: needsFile }, async (t) => {
  const database = await openDatabase(t);
  const losing: Database = {
    ...database,
    async read(statement) {
      const rows = await database.read(statement);
      return statement.hasLargeRows ? rows.slice(0, -1) : rows;
    },
  };
  await tableOf(notes, database).create(Array.from({ length: COUNT }, () => ({ body: BODY })));
  const page = await new Pages(listsOf(notes), losing).read({ limit: COUNT });
  assert.equal(page?.items?.length, COUNT);
});

test('large records: are read one by one if they are too large together', {
  skip: needsFile,
}, async (t) => {
  const database = await openDatabase(t);
  let mostCharacters = 0;
  const heard: Database = {
    ...database,
    async read(statement) {
      const rows = await database.read(statement);
      mostCharacters = Math.max(mostCharacters, ...rows.map(({ lines }) => String(lines).length));
      return rows;
    },
  };
  const table = tableOf(notes, heard);
  const ids = Array.from({ length: COUNT }, (_, index) => index + 1);
  await table.create(ids.map((id) => ({ title: `${id}`, body: BODY })));
  const records = await Promise.all(ids.map((id) => table.read(id)));
  assert.deepEqual(
    records.map((record) => JSON.parse(record?.text ?? '').title),
    ids.map(String),
  );
  assert.ok(mostCharacters < MAX_PAGE_BYTES);
});
