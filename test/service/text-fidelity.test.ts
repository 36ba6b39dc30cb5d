// Text comes back exactly as it was sent, to the code point: through create, replace, read, list and a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from './harness.ts';

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
  "something like SQL's blobs and parameters": `x'6162' ?1 :a @b $c`,
  'something like HTML': '<script>alert(1)</script>&amp;',
  '500 astral code points': '🜁'.repeat(500),
  'numbers that look like floats': '4.0 1e5 16.9',
};

/** Every code point that can be stored, in texts of at most 100,000. */
function allCodePoints(): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code === 0xd800) code = 0xe000;
    chunk += String.fromCodePoint(code);
    if (code % 50_000 === 0) chunks.push(`${chunk}.`);
    if (code % 50_000 === 0) chunk = '';
  }
  return [...chunks, `${chunk}.`];
}

test('every text comes back as it was sent', async (t) => {
  const first = await startService(t);
  const texts = Object.values(TEXTS);
  for (const [index, text] of texts.entries()) {
    const created = await first.request('POST', '/notes', { json: { title: 'before', body: text } });
    assert.equal(created.json.body, text);
    const replaced = await first.request('PUT', `/notes/${index + 1}`, { json: { title: text, body: text } });
    assert.equal(replaced.json.title, text);
    await first.request('POST', '/notes/1/comments', { json: { body: text } });
    await first.request('POST', '/tags', { json: { name: [...text].slice(0, 200).join('') } });
  }
  await first.close();
  const second = await startService(t, { db: first.file });
  for (const path of ['/notes', '/notes/1/comments', '/tags']) {
    const list = await second.request('GET', `${path}?limit=100`);
    for (const [index, [name, text]] of Object.entries(TEXTS).entries()) {
      const read = await second.request('GET', `${path}/${index + 1}`);
      assert.deepEqual(list.json.items[index], read.json, name);
      assert.equal(read.json.body ?? read.json.name, path === '/tags' ? [...text].slice(0, 200).join('') : text, name);
    }
  }
});

test('every code point of Unicode comes back', async (t) => {
  const service = await startService(t);
  for (const text of allCodePoints()) {
    const created = await service.request('POST', '/notes', { json: { title: 'x', body: text } });
    assert.equal(created.status, 201);
    const read = await service.request('GET', String(created.headers.location));
    assert.ok(read.json.body === text, `up to U+${text.codePointAt(text.length - 2)?.toString(16)}`);
  }
});

test('escapes and raw characters are the same text', async (t) => {
  const service = await startService(t);
  const headers = { 'content-type': 'application/json' };
  const escaped = '{"title":"\\u0041\\ud83d\\ude00\\u0000\\/","body":"b"}';
  const created = await service.request('POST', '/notes', { body: escaped, headers });
  assert.equal(created.json.title, 'A😀\u0000/');
});

test('a lone surrogate is refused wherever it stands in a text, and nothing is stored', async (t) => {
  const service = await startService(t);
  const headers = { 'content-type': 'application/json' };
  for (const text of ['\\ud800', 'a\\udfffb', '\\ude00\\ud83d', '\\ud83dx\\ude00', '\\ud83d\\ud83d\\ude00']) {
    const answer = await service.request('POST', '/tags', { body: `{"name":"${text}"}`, headers });
    assert.equal(answer.status, 422);
    assert.equal(answer.json.errors[0].code, 'format');
  }
  assert.equal((await service.request('GET', '/tags')).json.total, 0);
});
