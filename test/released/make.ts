// Writes into test/released/VERSION what the tests of later versions need of this one: a database
// with all that there can be, its export, requests with keys, the contract and other promises. For
// `npm run keep:release`.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { checkFile } from '../../src/commands/check.ts';
import { createStepKind, createStepReader, SEARCHABLE } from '../../src/search/steps.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { readVersion } from '../../src/version.ts';
import { change, newFile, openEmpty, rows } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import { ODD_TEXTS } from '../support/filled.ts';
import { exported } from '../support/in-process-command.ts';
import { BEAUTIFUL } from '../support/names-of-notes.ts';
import { promisesOf } from '../support/promises.ts';
import type { KeptRequest } from '../support/released.ts';
import { type Service, startService } from '../support/service.ts';
import { root } from '../support/sources.ts';

/** Titles whose words a search must find. */
const TITLES = [
  ...['Einkaufsliste für Käse', 'Λίστα για ψώνια', 'Список покупок', 'İstanbul ve Iğdır'],
  ...['רשימת קניות', 'قائمة التسوق', 'किराने की सूची', 'รายการซื้อของ', 'Ghi chú Việt Nam'],
  ...['购物清单', '買い物リスト', '쇼핑 목록', 'Շուկա', 'საყიდლები', 'Zażółć gęślą jaźń'],
];

/** More than a step of the search index takes. */
const FURTHER_NOTES = 300;

class Author {
  readonly requests: KeptRequest[] = [];
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  async send(method: string, path: string, json?: unknown, headers = {}) {
    const answer = await this.#service.request(method, path, { json, headers });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  }

  async note(json: object): Promise<string> {
    const { headers } = await this.send('POST', '/notes', { title: 'a', body: 'b', ...json });
    return String(headers.location);
  }

  async sendOnce(method: string, path: string, json?: object): Promise<void> {
    const key = `${method}:${path}`;
    const answer = await this.send(method, path, json, { 'idempotency-key': key });
    const { status, json: body = null } = answer;
    this.requests.push({ method, path, key, ...(json && { json }), status, body });
  }
}

async function writeAll(author: Author, service: Service): Promise<void> {
  for (const title of TITLES) await author.note({ title, body: `${title}\n`, tags: ['script'] });
  for (const body of ODD_TEXTS) await author.note({ body, tags: ['odd', "it's ünusual"] });
  await author.note({ title: 'x'.repeat(500), body: '😀'.repeat(50_000) });
  const line = JSON.stringify({ title: 'one of many', body: 'b', tags: ['many'] });
  const lines = `${line}\n`.repeat(FURTHER_NOTES);
  const headers = { 'content-type': 'application/x-ndjson' };
  await service.request('POST', '/notes', { headers, body: lines });
  for (const name of BEAUTIFUL)
    await author.send('PUT', `/named/${encodeURIComponent(name)}`, {
      title: 'a',
      body: `"${name}"`,
    });
  await author.send('POST', '/named/diary%2F2026/append', { text: 'First entry' });

  // Tags that are renamed and deleted, and one on no note
  const tag = await author.send('POST', '/tags', { name: 'renamed' });
  await author.send('PUT', String(tag.headers.location), { name: 'new name' });
  const gone = await author.send('POST', '/tags', { name: 'deleted' });
  await author.note({ tags: ['deleted', 'script'], title: 'Straße' });
  await author.send('DELETE', String(gone.headers.location));

  // Times from elsewhere, and versions
  const times = { created_at: '1999-12-31T23:59:59.999Z', updated_at: '2020-02-29T12:00:00.000Z' };
  const old = await author.note({ title: 'old', ...times });
  await author.send('POST', `${old}/comments`, { body: 'as old', ...times });
  for (const body of ['second', 'third', 'fourth']) await author.send('PATCH', old, { body });
  const { items } = (await author.send('GET', `${old}/versions`)).json;
  await author.send('POST', `${old}/restore`, { version: items.at(-1).version });

  // The trash
  const deleted = await author.note({ title: 'deleted', name: 'trash/deleted', tags: ['script'] });
  const back = await author.note({ title: 'restored', name: 'trash/restored', tags: ['many'] });
  const erased = await author.note({ title: 'erased', name: 'trash/erased' });
  for (const path of [deleted, back, erased]) {
    for (const body of ['first', 'second']) {
      const comment = await author.send('POST', `${path}/comments`, { body });
      await author.send('PATCH', String(comment.headers.location), { body: `${body}, changed` });
    }
    await author.send('DELETE', path);
  }
  await author.send('POST', `${back.replace('notes', 'trash')}/restore`);
  await author.send('DELETE', erased.replace('notes', 'trash'));
}

/** Requests with keys come last: the records in their answers stay as they are. */
async function writeOnce(author: Author): Promise<void> {
  const paths: string[] = [];
  for (const title of ['patched', 'appended', 'deleted', 'restored', 'commented'])
    paths.push(await author.note({ title, name: `keys/${title}` }));
  const [patched = '', appended = '', deleted = '', restored = '', commented = ''] = paths;
  await author.send('DELETE', restored);
  await author.sendOnce('POST', '/notes', { title: 'created', body: 'b', name: 'keys/created' });
  await author.sendOnce('POST', '/tags', { name: 'created once' });
  await author.sendOnce('POST', `${commented}/comments`, { body: 'once' });
  await author.sendOnce('PATCH', patched, { body: 'once' });
  await author.sendOnce('POST', `${appended}/append`, { text: 'once' });
  await author.sendOnce('DELETE', deleted);
  await author.sendOnce('POST', `${restored.replace('notes', 'trash')}/restore`);
}

/** Adds what another program has written, and leaves the index as a kill in the middle does. */
async function finish(test: Ends, path: string): Promise<void> {
  const database = await openEmpty(test, path);
  await change(database, `INSERT INTO notes (title, body) VALUES ('foreign', 'without times')`);
  await change(database, `INSERT INTO notes (id, title, body) VALUES (-5, 'foreign', 'below 1')`);
  const [index] = SEARCHABLE;
  assert.ok(index);
  // The log does not reach back to where the index is: all notes must be indexed.
  await change(database, 'DELETE FROM changes WHERE number <= 100');
  await change(database, `UPDATE ${index.search.position} SET number = 1, id = NULL`);
  const { step } = await createStepReader(index, database)();
  assert.ok(step);
  await createWriter(database)(createStepKind(index), step);
  const [position] = await rows(database, `SELECT id FROM ${index.search.position}`);
  assert.ok(Number(position?.id) > 0);
  await database.close();
}

const ends: (() => unknown)[] = [];
const test: Ends = { after: (end) => void ends.unshift(end) };
const path = newFile(test);
const service = await startService(test, { db: path });
const author = new Author(service);
await writeAll(author, service);
await writeOnce(author);
const promises = await promisesOf(service);
await service.close();
await finish(test, path);
assert.deepEqual(await checkFile(path), []);

const folder = new URL(`test/released/${readVersion()}/`, root);
const contract = JSON.parse(readFileSync(new URL('schemas/openapi.json', root), 'utf8'));
const files = {
  'notes.db': readFileSync(path),
  'export.jsonl': await exported(path),
  'requests.json': JSON.stringify(author.requests),
  'openapi.json': JSON.stringify(contract),
};
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('promises.txt', folder), promises.map((line) => `${line}\n`).join(''));
for (const [name, content] of Object.entries(files))
  writeFileSync(new URL(`${name}.gz`, folder), gzipSync(content, { level: 9 }));
for (const end of ends) await end();
