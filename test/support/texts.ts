// Sends texts through every operation on records, and checks that they return unchanged.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { allItems, type CollectionUnderTest, maxLengthOf, prepare } from './collections.ts';
import { startService } from './service.ts';

/** Texts of up to `length` code points: every `step`th, low ones and those beside surrogates. */
export function codePoints(length: number, step: number): Map<string, string> {
  const characters: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const isEdge = code < 0x3000 || (code > 0xd7f0 && code < 0xe010) || (code & 0xffff) >= 0xfff0;
    if (isEdge || code % step === 0) characters.push(String.fromCodePoint(code));
  }
  const texts = new Map<string, string>();
  for (let start = 0; start < characters.length; start += length - 1) {
    const part = characters.slice(start, start + length - 1);
    texts.set(`from U+${part[0]?.codePointAt(0)?.toString(16)}`, `${part.join('')}.`);
  }
  return texts;
}

function inputWith(collection: CollectionUnderTest, text: string): Record<string, unknown> {
  const characters = [...text];
  const fit = (field: string) => characters.slice(0, maxLengthOf(collection, field)).join('');
  const texts = collection.fields.map((field) => [field, fit(field)]);
  return { ...collection.samples, ...Object.fromEntries(texts) };
}

/** Asserts equality without a diff, which takes minutes for long texts. */
function assertSame(actual: unknown, expected: unknown, label: string): void {
  assert.ok(isDeepStrictEqual(actual, expected), label);
}

/** Asserts that each text comes back from every operation, also after a restart. */
export async function assertKept(
  t: TestContext,
  collection: CollectionUnderTest,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  const { path, added } = collection;
  const service = await startService(t);
  await prepare(service, collection);
  const records: unknown[] = [];
  for (const [name, text] of texts) {
    const input = inputWith(collection, text);
    const { json, headers } = await service.request('POST', path, { json: input });
    assertSame(json, { id: records.length + 1, ...added, ...input }, `${name}: created`);
    const read = await service.request('GET', String(headers.location));
    assertSame(read.json, json, `${name}: read`);
    records.push(json);
  }
  assertSame(await allItems(service, path), records, 'listed');
  const names = [...texts.keys()].reverse();
  for (const [index, text] of [...texts.values()].reverse().entries()) {
    const record = { id: index + 1, ...added, ...inputWith(collection, text) };
    const { json } = await service.request('PUT', `${path}/${index + 1}`, { json: record });
    assertSame(json, record, `${names[index]}: replaced`);
    records[index] = record;
  }
  await service.close();
  const again = await startService(t, { db: service.file });
  assertSame(await allItems(again, path), records, 'listed after a restart');
  for (const [index, record] of records.entries()) {
    const { json } = await again.request('GET', `${path}/${index + 1}`);
    assertSame(json, record, `${names[index]}: read after a restart`);
  }
}
