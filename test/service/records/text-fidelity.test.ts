// Text comes back exactly as it was sent, to the code point: through create, replace, read, list and a restart.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  allItems,
  COLLECTIONS,
  type CollectionUnderTest,
  inputOf,
  maxLengthOf,
  prepare,
} from '../../support/collections.ts';
import { startService } from '../../support/service.ts';

const TEXTS = {
  'NUL inside and at the ends': '\u0000a\u0000b\u0000',
  'control characters': Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join('x'),
  'quotes and backslashes': '"\\"\\\\\'`\\u0041\\n',
  'line ends of all kinds': 'a\nb\r\nc\rd\u2028e\u2029f\u0085g',
  'white space around it': '  \t x \u00a0\u3000\n',
  'composed and decomposed forms': '\u00e9 e\u0301 \u212b \u00c5 \ufb01',
  'astral characters': '😀👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿𝒳\u{10ffff}',
  'non-characters and replacement characters': 'a\ufffd\uffff\ufffe\ufdd0\u{1ffff}',
  'byte order marks': '\ufeffa\ufeff',
  'right-to-left marks': '\u202eabc\u202c שלום',
  'something like JSON': '{"id":1,"title":[null,4.0]}',
  'something like SQL': `'); DROP TABLE notes; --`,
  "something like SQL's blobs": `x'6162'`,
  "something like SQL's parameters": '?1 :a @b $c',
  'something like HTML': '<script>alert(1)</script>&amp;',
  'as many astral code points as may be': '🜁'.repeat(100_000),
  'something like a number': '4.0',
  'something like null': 'null',
};

const JSON_TYPE = { 'content-type': 'application/json' };

/** Every code point that can be stored, in order, in texts of at most `length`; none of them is blank. */
function allCodePoints(length: number): string[] {
  const characters: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code < 0xd800 || code > 0xdfff) characters.push(String.fromCodePoint(code));
  }
  const texts: string[] = [];
  for (let start = 0; start < characters.length; start += length - 1) {
    texts.push(`${characters.slice(start, start + length - 1).join('')}.`);
  }
  return texts;
}

/** Returns input with as much of `text` in each field as it takes. */
function inputWith(collection: CollectionUnderTest, text: string): Record<string, string> {
  const characters = [...text];
  const fit = (field: string) => characters.slice(0, maxLengthOf(collection, field)).join('');
  return Object.fromEntries(collection.fields.map((field) => [field, fit(field)]));
}

/** Asserts equality without a diff, which takes minutes for texts of this length. */
function assertSame(actual: unknown, expected: unknown, label: string): void {
  assert.ok(isDeepStrictEqual(actual, expected), label);
}

/**
 * Sends each text by create, and again by replace in the place of another, and asserts that it comes back the same in
 * the answer, by read and by list, before a restart and after it.
 */
async function assertKept(t: TestContext, collection: CollectionUnderTest, texts: ReadonlyMap<string, string>) {
  const { path, added } = collection;
  const service = await startService(t);
  await prepare(service, collection);
  const records: unknown[] = [];
  for (const [name, text] of texts) {
    const input = inputWith(collection, text);
    const { json, headers } = await service.request('POST', path, { json: input });
    assertSame(json, { id: records.length + 1, ...added, ...input }, `${name}: created`);
    assertSame((await service.request('GET', String(headers.location))).json, json, `${name}: read`);
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

for (const collection of COLLECTIONS) {
  const { label, path, fields } = collection;

  test(`${label}: every text comes back as it was sent`, async (t) => {
    await assertKept(t, collection, new Map(Object.entries(TEXTS)));
  });

  test(`${label}: a lone surrogate is refused in every field, and nothing changes`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const before = await service.request('POST', path, { json: inputOf(collection, 'before') });
    for (const text of ['\\ud800', 'a\\udfffb', '\\uDE00\\uD83D', '\\ud83dx\\ude00', '\\ud83d\\ud83d\\ude00']) {
      for (const field of fields) {
        const members = fields.map((name) => `"${name}":"${name === field ? text : 'after'}"`);
        for (const [method, target] of [
          ['POST', path],
          ['PUT', `${path}/1`],
        ] as const) {
          const answer = await service.request(method, target, { body: `{${members.join()}}`, headers: JSON_TYPE });
          assert.equal(answer.status, 422, `${method} ${field} ${text}`);
          const [{ detail, ...error }] = answer.json.errors;
          assert.deepEqual(error, { field, in: 'body', pointer: `#/${field}`, code: 'format' });
          assert.match(detail, /surrogate/);
        }
      }
    }
    assert.deepEqual(await allItems(service, path), [before.json]);
  });

  test(`${label}: bytes that are not UTF-8 are a bad request, and nothing changes`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const before = await service.request('POST', path, { json: inputOf(collection, 'before') });
    const body = JSON.stringify(inputOf(collection, 'after~'));
    // A surrogate, a NUL in two bytes, a code point beyond the last, a stray byte, half a character.
    for (const bytes of ['eda080', 'c080', 'f4908080', 'ff', 'e282']) {
      const at = body.indexOf('~');
      const parts = [Buffer.from(body.slice(0, at)), Buffer.from(bytes, 'hex'), Buffer.from(body.slice(at + 1))];
      for (const [method, target] of [
        ['POST', path],
        ['PUT', `${path}/1`],
      ] as const) {
        const answer = await service.request(method, target, { body: Buffer.concat(parts), headers: JSON_TYPE });
        assert.equal(answer.status, 400, `${method} ${bytes}`);
        assert.equal(answer.json.type, `${service.url}/problems/bad-request`);
      }
    }
    assert.deepEqual(await allItems(service, path), [before.json]);
  });
}

// A name is too short for this to end soon, and differs from a body in its length alone.
for (const collection of COLLECTIONS.filter(({ fields }) => fields.includes('body'))) {
  test(`${collection.label}: every code point of Unicode comes back, in whatever way it goes`, async (t) => {
    const texts = allCodePoints(maxLengthOf(collection, 'body'));
    await assertKept(
      t,
      collection,
      new Map(texts.map((text) => [`from U+${text.codePointAt(0)?.toString(16)}`, text])),
    );
  });
}

test('texts that look alike but are composed differently stay apart', async (t) => {
  const service = await startService(t);
  const names = ['\u00e9', 'e\u0301', '\u212b', '\u00c5', 'A\u030a', '\uac00', '\u1100\u1161'];
  for (const name of names) await service.request('POST', '/tags', { json: { name } });
  const items = await allItems(service, '/tags');
  assert.deepEqual(
    items.map(({ name }) => name),
    names,
  );
});

test('escapes and raw characters are the same text', async (t) => {
  const service = await startService(t);
  const escaped = '{"title":"\\u0041\\ud83d\\uDE00\\u0000\\/\\u2028","body":"b"}';
  const created = await service.request('POST', '/notes', { body: escaped, headers: JSON_TYPE });
  assert.equal(created.json.title, 'A😀\u0000/\u2028');
});

test('a lone surrogate in a member that is ignored does not matter', async (t) => {
  const service = await startService(t);
  const body = '{"name":"kept","note":"\\ud800","\\udfff":1}';
  const created = await service.request('POST', '/tags', { body, headers: JSON_TYPE });
  assert.deepEqual([created.status, created.json], [201, { id: 1, name: 'kept' }]);
});
