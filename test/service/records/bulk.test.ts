// Bulk creates: a body of JSON lines becomes as many records, or none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems, COLLECTIONS, inputOf, prepare } from '../../support/collections.ts';
import { contract } from '../../support/contract.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

const TYPE = 'application/x-ndjson';
const MAX_LINES = 500;

for (const collection of COLLECTIONS) {
  const { label, path, fields, added, nested } = collection;
  const name = label.toLowerCase();
  const input = (text: string) => inputOf(collection, text);
  const line = (text: string) => JSON.stringify(input(text));
  const [field = ''] = fields;

  // The tests share one service, so each takes the list as the ones before it left it.
  test(`bulk: ${name}`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const post = (body: string | Buffer, headers = {}): Promise<Answer> =>
      service.request('POST', path, { body, headers: { 'content-type': TYPE, ...headers } });
    const total = async () => (await service.request('GET', path)).json.total;
    const assertRefused = async (body: string | Buffer, status: number, detail: RegExp) => {
      const before = await service.request('GET', path);
      const answer = await post(body);
      const about = String(body).slice(0, 80);
      assert.equal(answer.status, status, about);
      assert.match(answer.json.detail, detail, about);
      const after = await service.request('GET', path);
      assert.deepEqual([after.headers.etag, after.bytes], [before.headers.etag, before.bytes]);
      return answer.json;
    };

    await t.test(`bulk: ${name}: the records in the order of the lines`, async () => {
      const before = await allItems(service, path);
      const texts = Array.from({ length: 40 }, (_, index) => `text ${(index * 7) % 40} é👋\n"`);
      const answer = await post(texts.map((text) => `${line(text)}\n`).join(''));
      const { status, headers, json, text } = answer;
      assert.equal(status, 201);
      assert.equal(headers['content-type'], TYPE);
      assert.equal(headers.location, path);
      assert.equal(headers.etag, undefined);
      assert.equal(headers['idempotent-replayed'], undefined);
      assert.equal(text.split('\n').length, 41);
      assert.ok(text.endsWith('}\n'));
      const first = json[0].id;
      assert.deepEqual(
        json,
        texts.map((each, index) => ({ id: first + index, ...added, ...input(each) })),
      );
      assert.deepEqual(await allItems(service, path), [...before, ...json]);
      // Each record has a number, and thus a tag, of its own.
      const created: readonly { id: number }[] = json;
      const tags = await Promise.all(
        created.map(({ id }) => service.request('HEAD', `${path}/${id}`)),
      );
      assert.equal(new Set(tags.map(({ headers: { etag } }) => etag)).size, 40);
      const next = await service.request('POST', path, { json: input('next') });
      assert.ok(next.json.id > Number(created.at(-1)?.id));
    });

    await t.test(`bulk: ${name}: blank lines, ends of lines and white space`, async () => {
      const [one, two] = [line('one'), line('two')];
      for (const body of [
        `${one}\n${two}\n`,
        `${one}\n${two}`,
        `${one}\r\n${two}\r\n`,
        `\n\r\n \n\t\n${one}\n\n \t\r\n${two}\n\n\n`,
        `  ${one}\t\n\t${two}  `,
        `${one.replaceAll(':', ' :\t')}\n${two}`,
      ]) {
        const { status, json } = await post(body);
        assert.equal(status, 201, JSON.stringify(body));
        assert.deepEqual(
          json.map((each: Record<string, unknown>) => each[field]),
          ['one', 'two'],
        );
      }
    });

    await t.test(`bulk: ${name}: from 1 to ${MAX_LINES} lines`, async () => {
      const before = await total();
      assert.equal((await post(line('one'))).json.length, 1);
      assert.equal((await post(`${line('x')}\n`.repeat(MAX_LINES))).json.length, MAX_LINES);
      assert.equal((await post(`\n${line('x')}\n \n`.repeat(MAX_LINES))).json.length, MAX_LINES);
      assert.equal(await total(), before + 1 + 2 * MAX_LINES);
      for (const none of ['', '\n', ' ', '\r\n\r\n', ' \n\t', '\n'.repeat(1_048_576)]) {
        const { errors } = await assertRefused(none, 422, /must have at least 1 item/);
        assert.deepEqual([errors[0].pointer, errors[0].code], ['#', 'minItems']);
      }
      for (const [count, text] of [
        [MAX_LINES + 1, line('x')],
        [349_525, '{}'],
        [524_288, '1'],
      ] as const) {
        const body = `${text}\n`.repeat(count);
        const { errors } = await assertRefused(body, 422, /must have at most 500 items/);
        assert.deepEqual([errors[0].pointer, errors[0].code], ['#', 'maxItems']);
      }
      await assertRefused(`${line('x')}\n`.repeat(100_000), 413, /larger than 1048576 bytes/);
    });

    await t.test(`bulk: ${name}: a line that is not JSON is 400 with its number`, async () => {
      const good = line('good');
      for (const [bad, detail] of [
        ['x', /is not valid JSON\.$/],
        ['{', /is not valid JSON\.$/],
        [`${good} ${good}`, /is not valid JSON\.$/],
        [`${good},`, /is not valid JSON\.$/],
        ["{'a':1}", /is not valid JSON\.$/],
        [`\ufeff${good}`, /remove the byte order mark/],
        [good.replace('good', '\\x'), /is not valid JSON\.$/],
        [Buffer.from([0x22, 0xff, 0x22]), /is not valid UTF-8/],
        [Buffer.from([0xed, 0xa0, 0x80]), /is not valid UTF-8/],
        [`{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, /nested too deeply/],
        [`${'['.repeat(100_000)}`, /nested too deeply/],
        [`{"x":[${'{},'.repeat(100_000)}0]}`, /has too many arrays, objects and members/],
      ] as const) {
        for (const [position, lines] of [
          [0, [bad]],
          [0, [bad, good]],
          [2, [good, good, bad]],
          [1, [good, '', bad, good]],
        ] as const) {
          const body = Buffer.concat(
            lines.flatMap((each) => [Buffer.from(each), Buffer.from('\n')]),
          );
          const { detail: sent } = await assertRefused(body, 400, detail);
          assert.ok(sent.startsWith(`Line ${position} (counted from 0) `), sent);
        }
      }
      // The first fault counts; what is not JSON comes before what is no record.
      await assertRefused(`1\n{}\nx\ny`, 400, /^Line 2 /);
    });

    await t.test(`bulk: ${name}: violated rules are 422 with the line`, async () => {
      const good = line('good');
      const lines = [good, good, '', good, JSON.stringify({ ...input('x'), [field]: 4 }), good];
      const wrong = await assertRefused(
        lines.join('\n'),
        422,
        new RegExp(`3\\.${field} must be a`),
      );
      assert.deepEqual(wrong.errors, [
        {
          field: `3.${field}`,
          in: 'body',
          pointer: `#/3/${field}`,
          code: 'type',
          detail: 'must be a string',
        },
      ]);
      for (const bad of ['1', 'null', '[]', `[${good}]`, '"a"', 'true', '4.0']) {
        const { errors } = await assertRefused(`${good}\n${bad}`, 422, /must be an object/);
        assert.deepEqual([errors[0].pointer, errors[0].code], ['#/1', 'type']);
      }
      for (const [value, code] of [
        ['""', 'minLength'],
        ['null', 'type'],
        ['4.0', 'type'],
        ['"\\ud800"', 'format'],
      ] as const) {
        const bad = JSON.stringify({ ...input('x'), [field]: 0 }).replace(':0', `:${value}`);
        const { errors } = await assertRefused(`${good}\n${good}\n${bad}`, 422, /^2\./);
        assert.deepEqual([errors[0].pointer, errors[0].code], [`#/2/${field}`, code]);
      }
      const all = await assertRefused('{}\n'.repeat(MAX_LINES), 422, /and \d+ more\.$/);
      assert.equal(all.errors.length, 20);
      assert.deepEqual(all.errors[0].pointer, `#/0/${field}`);
      // The last of the lines is found, too.
      const last = `${`${good}\n`.repeat(MAX_LINES - 1)}{}`;
      const { errors } = await assertRefused(last, 422, /is required/);
      assert.equal(errors[0].pointer, `#/${MAX_LINES - 1}/${field}`);
    });

    await t.test(`bulk: ${name}: a line is a body as for a single create`, async () => {
      const members = '"id":77,"note_id":99,"x":{"deep":[4.0]},"__proto__":{"a":1},';
      const body = line('kept').replace('{', `{${members}`);
      const { status, json } = await post(`${body}\n${body}\n`);
      assert.equal(status, 201);
      for (const each of json) assert.deepEqual(each, { id: each.id, ...added, ...input('kept') });
      assert.notEqual(json[0].id, 77);
    });

    await t.test(`bulk: ${name}: media types`, async () => {
      for (const type of ['Application/X-NDJSON', `${TYPE}; charset=utf-8`, `${TYPE};charset=UTF8`])
        assert.equal((await post(line('x'), { 'content-type': type })).status, 201, type);
      for (const type of [`${TYPE}; charset=latin1`, 'application/ndjson', 'application/jsonl']) {
        const { status, json, headers } = await post(line('x'), { 'content-type': type });
        assert.equal(status, 415, type);
        assert.match(
          json.detail,
          /Lines of JSON, one record in each, are application\/x-ndjson\.$/,
        );
        assert.equal(headers.accept, `application/json, ${TYPE}`);
      }
      assert.equal((await post(line('x'), { 'content-encoding': 'gzip' })).status, 415);
      // As JSON, two lines are no JSON text, and an array is no record.
      for (const [body, status] of [
        [`${line('x')}\n${line('x')}`, 400],
        [`[${line('x')}]`, 422],
      ] as const)
        assert.equal((await post(body, { 'content-type': 'application/json' })).status, status);
    });

    await t.test(`bulk: ${name}: conditions are ignored`, async () => {
      const headers = { 'if-match': '"a"', 'if-none-match': '*' };
      assert.equal((await post(line('x'), headers)).status, 201);
    });

    await t.test(`bulk: ${name}: concurrent requests keep their records together`, async () => {
      const before = await total();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => post(`${line(`of ${index}`)}\n`.repeat(20))),
      );
      for (const [index, { json }] of answers.entries()) {
        assert.deepEqual(
          json,
          Array.from({ length: 20 }, (_, at) => {
            return { id: json[0].id + at, ...added, ...input(`of ${index}`) };
          }),
        );
      }
      assert.equal(await total(), before + 200);
    });

    if (nested) {
      await t.test(`bulk: ${name}: a missing owner is 404, after what is wrong`, async () => {
        const send = (body: string, owner = 999) =>
          service.request('POST', path.replace('/3/', `/${owner}/`), {
            body,
            headers: { 'content-type': TYPE },
          });
        const missing = await send(`${line('x')}\n${line('x')}`);
        assert.equal(missing.status, 404);
        assert.equal(missing.json.detail, 'Note with ID 999 was not found.');
        assert.equal((await send('{}')).status, 422);
        assert.equal((await send('{')).status, 400);
        assert.equal((await send(line('x'), 1)).headers.location, '/notes/1/comments');
      });
    }
  });
}

test('bulk: with a base URL, the location has its path', async (t) => {
  const service = await startService(t, { baseUrl: 'https://notes.example/base' });
  const post = (path: string, body: string, type: string) =>
    service.request('POST', path, { body, headers: { 'content-type': type } });
  const locations = [];
  for (const [path, body] of [
    ['/notes', '{"title":"a","body":"b"}'],
    ['/notes/1/comments', '{"body":"b"}'],
    ['/tags', '{"name":"n"}'],
  ] as const)
    for (const type of [TYPE, 'application/json'])
      locations.push((await post(path, body, type)).headers.location);
  assert.deepEqual(locations, [
    ...['/base/notes', '/base/notes/2', '/base/notes/1/comments', '/base/notes/1/comments/2'],
    ...['/base/tags', '/base/tags/2'],
  ]);
});

test('bulk: all other operations refuse lines with 415', async (t) => {
  const service = await startService(t);
  const collections = new Set(COLLECTIONS.map(({ path }) => path.replace('/3/', '/1/')));
  let count = 0;
  for (const [template, item] of Object.entries(contract.paths)) {
    const path = template.replace(/\{\w+\}/g, '1');
    for (const method of ['post', 'put', 'patch']) {
      const takesBody = 'requestBody' in ((item[method] ?? {}) as object);
      if (!takesBody || (method === 'post' && collections.has(path))) continue;
      const headers = { 'content-type': TYPE };
      const { status } = await service.request(method.toUpperCase(), path, { body: '{}', headers });
      assert.equal(status, 415, `${method} ${path}`);
      count += 1;
    }
  }
  assert.ok(count >= 12, String(count));
});
