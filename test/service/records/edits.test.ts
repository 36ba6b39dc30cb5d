// Appends to notes and edits of them in one place, over HTTP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '../../support/assistants.ts';
import { expected } from '../../support/records.ts';
import { type Service, startService } from '../../support/service.ts';

const LONGEST = 100_000;

/** Starts a service with a note; returns the calls that change it. */
async function startWithNote(t: Parameters<typeof startService>[0], body: string) {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'a', body } });
  const calling =
    (operation: string) =>
    (json: object, headers: Record<string, string> = {}, id = 1) =>
      service.request('POST', `/notes/${id}/${operation}`, { json, headers });
  return { service, append: calling('append'), edit: calling('edit') };
}

async function assertStored({ request }: Service, body: string, tag: unknown): Promise<void> {
  const { json, headers } = await request('GET', '/notes/1');
  assert.deepEqual([json, headers.etag], [expected({ id: 1, title: 'a', body }), tag]);
}

test('append: begins a line, and answers with the note', async (t) => {
  const { service, append } = await startWithNote(t, 'first');
  const start = await service.request('GET', '/changes');
  let body = 'first';
  for (const [text, after] of [
    ['second\n', 'first\nsecond\n'],
    ['third', 'first\nsecond\nthird'],
    ['\n', 'first\nsecond\nthird\n\n'],
    ['\0 😀', 'first\nsecond\nthird\n\n\0 😀'],
  ] as const) {
    // Memory must not keep the note as it was.
    await service.request('GET', '/notes/1');
    const { status, json, headers } = await append({ text });
    assert.deepEqual([status, json], [200, expected({ id: 1, title: 'a', body: after })]);
    assert.equal(headers['cache-control'], 'private, no-cache');
    await assertStored(service, after, headers.etag);
    body = after;
  }
  const { headers } = await service.request('GET', '/notes/1');
  const empty = await append({ text: '' });
  assert.deepEqual([empty.status, empty.json.body, empty.headers.etag], [200, body, headers.etag]);
  assert.equal((await service.request('GET', '/notes?q=third')).json.total, 1);
  const { json } = await service.request('GET', `/changes?since=${start.json.next}`);
  const types = json.items.map(({ type }: { type: string }) => type);
  assert.deepEqual([...new Set(types)], ['note.updated']);
});

test('append: a text that is not JSON', async (t) => {
  const { service } = await startWithNote(t, 'a');
  const append = (type: string, body: string | Buffer, headers = {}) =>
    service.request('POST', '/notes/1/append', {
      body,
      headers: { 'content-type': type, ...headers },
    });
  const key = { 'idempotency-key': 'k' };
  for (const [type, text, after] of [
    ['text/plain', '"b"\r\n', 'a\n"b"\r\n'],
    ['text/markdown; charset=utf-8', '\ufeff# 😀', 'a\n"b"\r\n# 😀'],
    ['text/plain', '', 'a\n"b"\r\n# 😀'],
  ] as const) {
    const { status, json } = await append(type, text);
    assert.deepEqual([status, json.body], [200, after]);
  }
  const long = await append('text/plain', 'x'.repeat(LONGEST));
  const detail = 'must leave the body with at most 100000 characters';
  assert.deepEqual(long.json.errors, [{ field: 'text', in: 'body', code: 'maxLength', detail }]);
  assert.equal((await append('text/plain', Buffer.of(0xff))).status, 400);
  assert.equal((await append('text/html', 'a')).status, 415);
  assert.equal((await append('text/plain', 'c', key)).status, 200);
  assert.equal((await append('text/markdown', 'c', key)).json.status, 422);
  assert.equal((await append('text/plain', 'c', key)).headers['idempotent-replayed'], 'true');
});

test('append and edit: what would make the body too long leaves it as it is', async (t) => {
  // SQL functions count or escape some of these characters in another way.
  const characters = 'ab\n \u3000\0\\"%*猫😀\\u0000';
  const body = `${characters.repeat(4_999)}|`;
  const { service, append, edit } = await startWithNote(t, body);
  const left = LONGEST - [...body].length - 1;
  const detail = 'must leave the body with at most 100000 characters';
  const assertLong = async (sent: ReturnType<typeof append>, field: string) => {
    const { status, json } = await sent;
    const error = { field, in: 'body', pointer: `#/${field}`, code: 'maxLength', detail };
    assert.deepEqual([status, json.errors], [422, [error]]);
  };
  const { headers } = await service.request('GET', '/notes/1');
  await assertLong(append({ text: '😀'.repeat(left + 1) }), 'text');
  await assertStored(service, body, headers.etag);
  assert.equal((await append({ text: '😀'.repeat(left) })).status, 200);
  await assertLong(append({ text: '\0' }), 'text');
  await assertLong(edit({ old_text: '|', new_text: '\0\0' }), 'new_text');
  assert.equal((await edit({ old_text: '|', new_text: '\0' })).status, 200);
  assert.equal((await append({ text: '' })).status, 200);
});

test('edit: replaces the only place, or says why not', async (t) => {
  const { service, edit } = await startWithNote(t, 'aaa 100% \0x\n');
  const refused = async (old_text: string, new_text = '') => {
    const { status, json } = await edit({ old_text, new_text });
    assert.equal(status, 422);
    return [json.errors[0].pointer, json.detail];
  };
  const absent = ['#/old_text', 'old_text must be in the body of the note, but is not.'];
  const several = (count: number) => [
    '#/old_text',
    `old_text must be in the body of the note once, but is there more than once: ${count} times.`,
  ];
  for (const text of ['A', '_', '*', '10_%', '\0y', 'aaaa', '\u0301'])
    assert.deepEqual(await refused(text), absent, text);
  for (const [count, text] of ['', 'aa', 'a'].entries())
    if (text) assert.deepEqual(await refused(text), several(count + 1), text);
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const blank = await refused('aaa 100% \0x', all.filter((each) => /\s/.test(each)).join(''));
  assert.deepEqual(blank, ['#/new_text', 'new_text must not leave the body blank.']);

  let body = 'aaa 100% \0x\n';
  for (const [old_text, new_text] of [
    ['100%', '$& \\1 😀'],
    ['\0', '\0\0'],
    ['\0\0x', 'y'],
    ['😀', ''],
    ['aaa', 'aaa'],
    ['\n', ''],
    // No white space, though nobody sees them.
    ['aaa $& \\1  y', '\0'],
    ['\0', '\u200b\u0085\u180e'],
  ] as const) {
    body = body.replace(old_text, () => new_text);
    const { status, json, headers } = await edit({ old_text, new_text });
    assert.deepEqual([status, json.body], [200, body]);
    await assertStored(service, body, headers.etag);
  }
});

test('edit: a text that only looks as if it were there is refused with what differs', async (t) => {
  const service = await startService(t);
  const body = 'Caf\u00e9\r\n\u201cTea\u201d\u00a05';
  await service.request('PUT', '/named/menu', { json: { title: 'a', body } });
  const { headers } = await service.request('GET', '/notes/1');
  for (const [old_text, differing] of [
    ['Caf\u00e9\n', 'line ends (the body has U+000D U+000A)'],
    ['Cafe\u0301', 'letters (the body has composed ones)'],
    ['"Tea"', 'double quotes (the body has U+201C, U+201D)'],
    ['\u201d 5', 'kinds of space (the body has U+00A0)'],
  ]) {
    const where = 'must be in the body of the note, but is not';
    const detail = `${where}: a passage differs only in ${differing}`;
    const errors = [
      { field: 'old_text', in: 'body', pointer: '#/old_text', code: 'exists', detail },
    ];
    const json = { old_text, new_text: 'b' };
    for (const path of ['/notes/1/edit', '/named/menu/edit']) {
      const answer = await service.request('POST', path, { json });
      assert.deepEqual([answer.status, answer.json.errors], [422, errors]);
      assert.equal(answer.json.detail, `old_text ${detail}.`);
    }
    const { isError, text } = await callTool(service, 'edit_note', { id: 1, ...json });
    assert.ok(isError && text.startsWith(`old_text ${detail}. Copy old_text`), text);
  }
  const { json, headers: after } = await service.request('GET', '/notes/1');
  assert.deepEqual([json.body, after.etag], [body, headers.etag]);
  const edited = { old_text: 'Caf\u00e9\r\n', new_text: '' };
  assert.equal((await service.request('POST', '/notes/1/edit', { json: edited })).status, 200);
});

for (const [operation, text, other] of [
  ['append', { text: 'b' }, { text: 'c' }],
  ['edit', { old_text: 'a', new_text: 'b' }, { old_text: 'b', new_text: 'c' }],
] as const) {
  test(`${operation}: a repetition with the same key changes nothing`, async (t) => {
    const started = await startWithNote(t, 'a');
    const { service, append } = started;
    const call = started[operation];
    const headers = { 'idempotency-key': 'k' };
    const { headers: before } = await service.request('GET', '/notes/1');
    const match = { 'if-match': String(before.etag) };
    const first = await call(text, { ...headers, ...match });
    assert.deepEqual([first.status, first.headers['idempotent-replayed']], [200, undefined]);
    const { json, headers: now } = await append({ text: 'later' });
    // Its condition held when it was carried out.
    const again = await call(text, { ...headers, ...match });
    assert.deepEqual([again.status, again.json, again.headers.etag], [200, json, now.etag]);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const reused = await call(other, headers);
    assert.deepEqual(
      [reused.status, reused.json.type.split('/').at(-1)],
      [422, 'idempotency-key-reused'],
    );
    await assertStored(service, json.body, now.etag);
    await service.request('DELETE', '/notes/1');
    assert.equal((await call(text, headers)).status, 404);
  });

  test(`${operation}: conditions, missing notes and wrong bodies`, async (t) => {
    const started = await startWithNote(t, 'a');
    const call = started[operation];
    const { headers } = await started.service.request('GET', '/notes/1');
    const tag = String(headers.etag);
    for (const condition of [
      { 'if-match': '"b"' },
      { 'if-none-match': tag },
      { 'if-none-match': '*' },
    ]) {
      const { status, headers: answer } = await call(text, condition);
      assert.deepEqual([status, answer.etag], [412, tag]);
    }
    const missing = await call(text, { 'if-match': tag }, 9);
    assert.deepEqual([missing.status, missing.json.detail], [404, 'Note with ID 9 was not found.']);
    for (const [body, code] of [
      [{}, 'required'],
      [{ ...text, more: 1 }, 'unknown'],
      [Object.fromEntries(Object.keys(text).map((name) => [name, 1])), 'type'],
      [Object.fromEntries(Object.keys(text).map((name) => [name, '\ud800'])), 'format'],
    ] as const) {
      const { status, json } = await call(body);
      assert.deepEqual([status, json.errors[0].code], [422, code]);
    }
    await assertStored(started.service, 'a', tag);
    assert.equal((await call(text, { 'if-match': tag })).status, 200);
  });
}

test('append: a repetition of nothing is 404 when the note is gone', async (t) => {
  const { service, append } = await startWithNote(t, 'a');
  const headers = { 'idempotency-key': 'k' };
  assert.equal((await append({ text: '' }, headers)).status, 200);
  assert.equal((await append({ text: '' }, headers)).headers['idempotent-replayed'], 'true');
  await service.request('DELETE', '/notes/1');
  assert.equal((await append({ text: '' }, headers)).status, 404);
});

test('edit: a text that would take long to find is refused', async (t) => {
  const { edit } = await startWithNote(t, `${'😀ab'.repeat(20_000)}c`);
  const detail = 'must not begin with more than 1000 repetitions of a text: begin it elsewhere';
  const at = { field: 'old_text', in: 'body', pointer: '#/old_text' };
  const longest = `${'😀'.repeat(98)}😁`;
  for (const [old_text, isRefused] of [
    ['a'.repeat(1_001), true],
    [`${'a'.repeat(1_000)}b`, false],
    [`${'😀ab'.repeat(1_000)}😀c`, true],
    [`${'😀ab'.repeat(1_000)}b`, false],
    [`${'\0\n'.repeat(1_001)}`, true],
    [`${longest.repeat(1_000)}😀`, true],
    [`${longest.repeat(1_000)}b`, false],
    [`b${'a'.repeat(99_999)}`, false],
  ] as const) {
    const { status, json } = await edit({ old_text, new_text: 'e' });
    assert.deepEqual([status, json.errors[0].code], [422, isRefused ? 'maxItems' : 'exists']);
    if (isRefused) assert.deepEqual(json.errors, [{ ...at, code: 'maxItems', detail }]);
  }
  assert.equal((await edit({ old_text: `${'😀ab'.repeat(900)}c`, new_text: 'e' })).status, 200);
});
