// Text comes back exactly as it was sent, to the code point.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, maxLengthOf } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';
import { assertKept, codePoints } from '../../support/texts.ts';

const TEXTS = {
  'NUL inside and at the ends': '\u0000a\u0000b\u0000',
  'control characters': Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join(
    'x',
  ),
  'quotes and backslashes': '"\\"\\\\\'`\\u0041\\n',
  'line ends of all kinds': 'a\nb\r\nc\rd\u2028e\u2029f\u0085g',
  'white space around it': '  \t x \u00a0\u3000\n',
  'composed and decomposed forms': '\u00e9 e\u0301 \u212b \u00c5 \ufb01',
  'astral characters': '😀👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿𝒳\u{10ffff}',
  'non-characters and replacement characters': 'a\ufffd\uffff\ufffe\ufdd0\u{1ffff}',
  'byte order marks': '\ufeffa\ufeff',
  'right-to-left marks': '\u202eabc\u202c שלום',
  JSON: '{"id":1,"title":[null,4.0]}',
  SQL: `'); DROP TABLE notes; --`,
  'a blob of SQL': `x'6162'`,
  'parameters of SQL': '?1 :a @b $c',
  'a format': '%s%n',
  HTML: '<script>alert(1)</script>&amp;',
  'a number': '4.0',
  null: 'null',
};

for (const collection of COLLECTIONS) {
  test(`text: ${collection.label.toLowerCase()}: comes back as sent`, async (t) => {
    // A name is too short for the sample, and differs from a body in its length alone.
    const hasBody = collection.fields.includes('body');
    const sample = hasBody ? codePoints(maxLengthOf(collection, 'body'), 257) : [];
    await assertKept(t, collection, new Map([...Object.entries(TEXTS), ...sample]));
  });
}

test('text: escapes, and surrogates in ignored members', async (t) => {
  const service = await startService(t);
  const escaped = '{"title":"\\u0041\\ud83d\\uDE00\\u0000\\/\\u2028","body":"b"}';
  const note = await service.request('POST', '/notes', { body: escaped });
  assert.equal(note.json.title, 'A😀\u0000/\u2028');
  const ignored = '{"name":"kept","id":"\\ud800","etag":{"\\udfff":1}}';
  const tag = await service.request('POST', '/tags', { body: ignored });
  assert.deepEqual([tag.status, tag.json], [201, { id: 1, name: 'kept' }]);
});
