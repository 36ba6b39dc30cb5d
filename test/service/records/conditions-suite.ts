// The tests of entity tags and conditional requests (RFC 9110, sections 8.8.3 and 13) on a
// collection: its records and its lists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CollectionUnderTest, inputOf, prepare } from '../../support/collections.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

type Headers = Readonly<Record<string, string | string[]>>;

const RECORD_TAG = /^"[0-9a-f]{8}-\d+"$/;
const LIST_TAG = /^"[0-9a-f]{8}\.\d+"$/;

/** Tags that no record has: of another number, of another generation, of another form. */
const FOREIGN = [
  ...['"0000000a-1"', '"00000000-999999999"', '""', '"*"', '"a,b"', '"\xe9\xff"', '"a\\"'],
  '"00000000-99999999999999999999"',
];

const among = (tag: string) => [...Array(999).fill('"0-1"'), tag].join(',');

function listsWith(tag: string): (string | string[])[] {
  return [
    tag,
    among(tag),
    `"a,b" ,, ${tag} ,`,
    `W/"x", "\xe9\xff",\t${tag}`,
    ['"a"', tag],
    [tag, 'W/"b"'],
  ];
}

const MALFORMED = [
  ...['', ',', 'a', '"', '"a', 'a"', '*, "a"', '"a", *', '**', 'w/"a"', 'W/a', '"a" "b"', '"a b"'],
  '5f2c9a01-1',
];

/** The status and how the detail begins. */
const PROXY = '412 A proxy that compr';
const STATE = '412 The record or list';

/** Registers the tests of conditional requests on a collection. */
export function testConditions(collection: CollectionUnderTest): void {
  const { label, path, fields } = collection;
  const name = label.toLowerCase();
  const input = (text: string) => inputOf(collection, text);
  const [field = ''] = fields;

  // The tests share one service, so each makes a record of its own.
  test(`conditions: ${name}`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    let sent = 0;
    // Each write has a text of its own: one that changes nothing would leave the tag as it is.
    const send = (method: string, target: string, headers: Headers = {}): Promise<Answer> => {
      sent += 1;
      const json = {
        ...{
          PUT: input(`put ${sent}`),
          PATCH: { [field]: `patched ${sent}` },
          POST: input('post'),
        },
      };
      const body = json[method as keyof typeof json];
      return service.request(method, target, body ? { json: body, headers } : { headers });
    };
    const create = async () => {
      const { status, headers, json } = await send('POST', path);
      assert.equal(status, 201);
      return { target: `${path}/${json.id}`, tag: String(headers.etag), json };
    };
    const weak = (tag: string) => `W/${tag}`;
    const foreign = (tag: string) => [
      ...FOREIGN,
      tag.replace(/-\d+/, (number) => `-0${number.slice(1)}`),
      tag.replace('-', '.'),
      tag.replace(/[0-9a-f](?=-)/, (digit) => (digit === '0' ? '1' : '0')),
    ];

    await t.test(`conditions: ${name}: every answer with a record has its tag`, async () => {
      const created = await send('POST', path);
      const target = `${path}/${created.json.id}`;
      const others = ['GET', 'HEAD', 'PUT', 'PATCH'].map((method) => () => send(method, target));
      const answers = [created];
      for (const next of others) answers.push(await next());
      for (const { headers } of answers) {
        assert.match(String(headers.etag), RECORD_TAG);
        assert.equal(headers['cache-control'], 'private, no-cache');
        assert.equal(headers['last-modified'], undefined);
      }
      const [first, read, head, put, patched] = answers.map(({ headers }) => headers.etag);
      assert.deepEqual([read, head], [first, first]);
      assert.equal(new Set([first, put, patched]).size, 3, 'each change has its own tag');
      assert.notEqual((await create()).tag, patched);
      assert.equal((await send('GET', target)).headers.etag, patched);
      const deleted = await send('DELETE', target);
      assert.deepEqual([deleted.status, deleted.headers.etag], [204, undefined]);
    });

    await t.test(`conditions: ${name}: a tag that a proxy has changed is explained`, async () => {
      const { target, tag } = await create();
      const list = String((await send('GET', path)).headers.etag);
      const outcome = async (method: string, where: string, headers: Headers) => {
        const { status, json } = await send(method, where, headers);
        return `${status} ${status === 412 ? json.detail.slice(0, 18) : ''}`;
      };
      const requests = ['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, target, tag]);
      for (const [method = '', where = '', good = ''] of [...requests, ['GET', path, list]]) {
        const suffixes = ['-gzip', ';gzip', '-br'].map((suffix) =>
          good.replace(/"$/, `${suffix}"`),
        );
        for (const spoilt of [weak(good), ...suffixes])
          assert.equal(await outcome(method, where, { 'if-match': `"a", ${spoilt}` }), PROXY);
        assert.equal(await outcome(method, where, { 'if-match': good.replace('"', '"a') }), STATE);
        const mixed = { 'if-match': `${weak(good)}, ${suffixes}, ${good}` };
        const known = await outcome(method, where, { ...mixed, 'if-none-match': good });
        assert.equal(known, method === 'GET' ? '304 ' : STATE);
      }
      const mixed = { 'if-match': `${weak(tag)}, ${tag}` };
      assert.match(await outcome('PUT', target, mixed), /^200/);
    });

    await t.test(`conditions: ${name}: the tag of a list changes with every change`, async () => {
      const { target } = await create();
      const tags = new Set<string>();
      const listTag = async (query = '') => {
        const { headers } = await send('GET', `${path}${query}`);
        assert.match(String(headers.etag), LIST_TAG);
        assert.equal(headers['cache-control'], 'private, no-cache');
        assert.equal((await send('HEAD', path)).headers.etag, headers.etag);
        return String(headers.etag);
      };
      tags.add(await listTag());
      assert.equal(await listTag('?limit=1&offset=3000'), await listTag());
      for (const [method, where] of [
        ['PUT', target],
        ['PATCH', target],
        ['DELETE', target],
        ['POST', path],
      ] as const) {
        await send(method, where);
        tags.add(await listTag());
      }
      await service.request('POST', '/tags', { json: { name: 'of another list' } });
      tags.add(await listTag());
      assert.equal(tags.size, 6);
    });

    await t.test(`conditions: ${name}: a known state is 304 without a body`, async () => {
      const { target } = await create();
      for (const where of [target, path, `${path}?limit=2&offset=1`, `${path}?offset=5000`]) {
        const { headers, bytes } = await send('GET', where);
        const tag = String(headers.etag);
        for (const known of [...listsWith(tag), ...listsWith(weak(tag)), '*']) {
          for (const method of ['GET', 'HEAD']) {
            const answer = await send(method, where, { 'if-none-match': known });
            assert.equal(answer.status, 304, `${method} ${where}`);
            assert.deepEqual([answer.headers.etag, answer.bytes.length], [tag, 0]);
            assert.equal(answer.headers['cache-control'], 'private, no-cache');
            assert.equal(answer.headers['content-type'], undefined);
            assert.equal(answer.headers['content-length'], undefined);
          }
        }
        const other = FOREIGN.join(', ');
        const answer = await send('GET', where, { 'if-none-match': other });
        assert.deepEqual([answer.status, answer.bytes], [200, bytes]);
      }
    });

    await t.test(`conditions: ${name}: a read reports a change, or requires a state`, async () => {
      const { target, tag } = await create();
      const listTag = String((await send('GET', path)).headers.etag);
      const now = String((await send('PUT', target)).headers.etag);
      assert.equal((await send('GET', path, { 'if-none-match': listTag })).status, 200);
      for (const method of ['GET', 'HEAD']) {
        for (const headers of [
          ...[tag, ...foreign(now)].map((other) => ({ 'if-none-match': other })),
          ...[now, '*', among(now)].map((allowed) => ({ 'if-match': allowed })),
        ])
          assert.equal((await send(method, target, headers)).status, 200);
        for (const wrong of [weak(now), '"00000000-1"']) {
          const headers = { 'if-match': wrong, 'if-none-match': now };
          const refused = await send(method, target, headers);
          assert.deepEqual([refused.status, refused.headers.etag], [412, now]);
        }
        const both = { 'if-match': now, 'if-none-match': now };
        assert.equal((await send(method, target, both)).status, 304);
      }
    });

    await t.test(`conditions: ${name}: a write under a true condition is performed`, async () => {
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const conditions = (tag: string): Headers[] => [
          ...[...listsWith(tag), '*', `${weak(tag)}, ${tag}`].map((each) => ({ 'if-match': each })),
          ...[...FOREIGN, among('"0-2"')].map((each) => ({ 'if-none-match': each })),
          { 'if-match': tag, 'if-none-match': FOREIGN.join() },
          { 'if-match': '*', 'if-none-match': '"a"' },
        ];
        for (const index of conditions('').keys()) {
          const { target, tag } = await create();
          const condition = conditions(tag)[index];
          const { status, headers } = await send(method, target, condition);
          assert.equal(status, method === 'DELETE' ? 204 : 200, `${method} ${index}`);
          assert.notEqual(headers.etag, tag);
        }
      }
    });

    await t.test(`conditions: ${name}: a write under a false condition is 412`, async () => {
      const { target, tag, json } = await create();
      const listTag = (await send('GET', path)).headers.etag;
      const conditions: Headers[] = [
        ...[weak(tag), among(weak(tag)), ...foreign(tag)].map((each) => ({ 'if-match': each })),
        ...[...listsWith(tag), ...listsWith(weak(tag)), '*'].map((each) => ({
          'if-none-match': each,
        })),
        { 'if-match': tag, 'if-none-match': tag },
        { 'if-match': tag, 'if-none-match': '*' },
        { 'if-match': '*', 'if-none-match': tag },
        { 'if-match': '*', 'if-none-match': '*' },
        { 'if-match': '"a"', 'if-none-match': '"b"' },
      ];
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        for (const condition of conditions) {
          const refused = await send(method, target, condition);
          assert.equal(refused.status, 412, `${method} ${JSON.stringify(condition).slice(0, 90)}`);
          assert.equal(refused.headers.etag, tag);
          assert.match(refused.json.type, /\/problems\/precondition-failed$/);
        }
      }
      const read = await send('GET', target);
      assert.deepEqual([read.json, read.headers.etag], [json, tag]);
      assert.equal((await send('GET', path)).headers.etag, listTag);
    });

    await t.test(`conditions: ${name}: a stale tag does not overwrite a change`, async () => {
      const { target, tag } = await create();
      const first = await send('PUT', target, { 'if-match': tag });
      const second = await send('PATCH', target, { 'if-match': tag });
      assert.deepEqual([first.status, second.status], [200, 412]);
      assert.equal(second.headers.etag, first.headers.etag);
      const writes = Array.from({ length: 8 }, () =>
        send('PUT', target, { 'if-match': String(first.headers.etag) }),
      );
      const statuses = (await Promise.all(writes)).map(({ status }) => status);
      assert.deepEqual(statuses.sort(), [200, ...Array(7).fill(412)]);
    });

    await t.test(`conditions: ${name}: what is missing is 404 under any condition`, async () => {
      for (const target of [
        `${path}/9999`,
        ...(collection.nested ? ['/notes/999/comments/1'] : []),
      ])
        for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
          for (const header of ['if-match', 'if-none-match'])
            for (const value of ['*', '"a"', among('"a"')]) {
              const { status } = await send(method, target, { [header]: value });
              assert.equal(status, 404, `${method} ${target} ${header}`);
            }
      if (collection.nested) {
        const headers = { 'if-none-match': '*' };
        assert.equal((await send('GET', '/notes/999/comments', headers)).status, 404);
      }
    });

    await t.test(`conditions: ${name}: malformed values are 400, and first`, async () => {
      const { target, tag } = await create();
      for (const header of ['if-match', 'if-none-match']) {
        const other = header === 'if-match' ? 'if-none-match' : 'if-match';
        for (const value of [...MALFORMED, [tag, 'x']]) {
          for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
            const answer = await send(method, target, { [header]: value, [other]: tag });
            assert.equal(answer.status, 400, `${method} ${header}: ${value}`);
            if (method !== 'HEAD') assert.match(answer.json.detail, new RegExp(` ${header} `));
          }
          if (header === 'if-none-match')
            assert.equal((await send('GET', path, { [header]: value })).status, 400);
        }
      }
      assert.equal((await send('GET', target)).headers.etag, tag);
    });

    await t.test(`conditions: ${name}: faults in order: 400, 422, 404, 412`, async () => {
      const { target, tag } = await create();
      for (const method of ['PUT', 'PATCH']) {
        const status = async (where: string, json: unknown, headers: Headers) =>
          (await service.request(method, where, { json, headers })).status;
        const [wrong, valid] = [{ [field]: 1 }, input('x')];
        assert.equal(await status(`${path}/x`, wrong, { 'if-match': 'a' }), 400);
        assert.equal(await status(`${path}/9999`, wrong, { 'if-match': '"a"' }), 422);
        assert.equal(await status(`${path}/x`, valid, { 'if-match': '"a"' }), 422);
        assert.equal(await status(`${path}/9999`, valid, { 'if-match': '"a"' }), 404);
        assert.equal(await status(target, valid, { 'if-match': '"a"' }), 412);
      }
      assert.equal((await send('DELETE', `${path}/x`, { 'if-match': 'a' })).status, 400);
      assert.equal((await send('DELETE', `${path}/x`, { 'if-match': '"a"' })).status, 422);
      assert.equal((await send('GET', target)).headers.etag, tag);
    });

    await t.test(`conditions: ${name}: dates, and conditions of POST, are ignored`, async () => {
      const { target } = await create();
      const past = 'Thu, 01 Jan 1970 00:00:00 GMT';
      const future = 'Fri, 01 Jan 2100 00:00:00 GMT';
      for (const [header, date] of [
        ['if-modified-since', future],
        ['if-unmodified-since', past],
        ['if-range', '"a"'],
      ] as const) {
        const headers = { [header]: date, range: 'bytes=0-1' };
        for (const method of ['GET', 'PUT', 'PATCH'])
          assert.equal((await send(method, target, headers)).status, 200, `${method} ${header}`);
        assert.equal((await send('GET', path, headers)).status, 200);
      }
      // POST has no record or list to compare with.
      for (const value of ['*', '"a"', 'malformed'])
        assert.equal((await send('POST', path, { 'if-match': value })).status, 201);
      assert.equal((await send('DELETE', target, { 'if-unmodified-since': past })).status, 204);
    });
  });
}
