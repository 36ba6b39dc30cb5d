// Bulk creates: a body of JSON lines becomes as many records, or none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems, COLLECTIONS, inputOf, prepare } from '../../support/collections.ts';
import { contract } from '../../support/contract.ts';
import { startService } from '../../support/service.ts';
import { clientOf, lines, NOTE } from '../../support/tagged-notes.ts';

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
    const post = (body: string | Buffer, headers = {}, list = path) =>
      service.request('POST', list, { body, headers: { 'content-type': TYPE, ...headers } });
    const total = async () => (await service.request('GET', path)).json.total;
    const assertRefused = async (body: string | Buffer, status: number, detail: RegExp) => {
      const { etag } = (await service.request('HEAD', path)).headers;
      const answer = await post(body);
      const about = String(body).slice(0, 80);
      assert.equal(answer.status, status, about);
      assert.match(answer.json.detail, detail, about);
      assert.equal((await service.request('HEAD', path)).headers.etag, etag, about);
      return answer.json;
    };
    const assertViolated = async (body: string, pointer: string, code: string, detail: RegExp) => {
      const { errors } = await assertRefused(body, 422, detail);
      assert.deepEqual([errors[0].pointer, errors[0].code], [pointer, code]);
    };

    await t.test(`bulk: ${name}: the records in the order of the lines`, async () => {
      const before = await allItems(service, path);
      const texts = Array.from({ length: 40 }, (_, index) => `text ${(index * 7) % 40} é👋\n"`);
      const answer = await post(texts.map((text) => `${line(text)}\n`).join(''));
      const { status, headers, json, text } = answer;
      assert.deepEqual([status, headers['content-type'], headers.location], [201, TYPE, path]);
      assert.deepEqual([headers.etag, headers['idempotent-replayed']], [undefined, undefined]);
      assert.equal(text.split('\n').length, 41);
      assert.ok(text.endsWith('}\n'));
      const first = json[0].id;
      assert.deepEqual(
        json,
        texts.map((each, index) => ({ id: first + index, ...added, ...input(each) })),
      );
      assert.deepEqual(await allItems(service, path), [...before, ...json]);
      const tags = await Promise.all(
        json.map(({ id }: { id: number }) => service.request('HEAD', `${path}/${id}`)),
      );
      assert.equal(new Set(tags.map(({ headers: { etag } }) => etag)).size, 40);
    });

    await t.test(`bulk: ${name}: blank lines and white space around lines`, async () => {
      const body = `\n\r\n \n\t\n ${line('one')}\t\r\n\n \t\r\n${line('two')}\n\n\n`;
      const { status, json } = await post(body);
      assert.equal(status, 201);
      const found = json.map((each: Record<string, unknown>) => each[field]);
      assert.deepEqual(found, ['one', 'two']);
    });

    await t.test(`bulk: ${name}: from 1 to ${MAX_LINES} lines`, async () => {
      const before = await total();
      assert.equal((await post(line('one'))).json.length, 1);
      assert.equal((await post(`\n${line('x')}\n \n`.repeat(MAX_LINES))).json.length, MAX_LINES);
      assert.equal(await total(), before + 1 + MAX_LINES);
      for (const none of ['', '\n', ' ', '\r\n\r\n', '\n'.repeat(1_048_576)])
        await assertViolated(none, '#', 'minItems', /must have at least 1 item/);
      for (const [count, text] of [
        [MAX_LINES + 1, line('x')],
        [524_288, '1'],
      ] as const)
        await assertViolated(`${text}\n`.repeat(count), '#', 'maxItems', /at most 500 items/);
      await assertRefused(`${line('x')}\n`.repeat(100_000), 413, /larger than 1048576 bytes/);
    });

    await t.test(`bulk: ${name}: a line that is not JSON is 400 with its number`, async () => {
      const good = line('good');
      for (const [bad, detail] of [
        ['{', /is not valid JSON at line \d+, column \d+: /],
        [`${good} ${good}`, /is not valid JSON at line \d+, column \d+: /],
        [`\ufeff${good}`, /found a byte order mark/],
        [Buffer.from([0x22, 0xff, 0x22]), /is not valid UTF-8/],
        [`{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, /nested too deeply/],
        [`{"x":[${'{},'.repeat(100_000)}0]}`, /has too many arrays, objects and members/],
      ] as const) {
        for (const [position, before] of [
          [0, ''],
          [1, `${good}\n\n`],
        ] as const) {
          const body = [before, bad, `\n${good}`].map((part) => Buffer.from(part));
          const { detail: sent } = await assertRefused(Buffer.concat(body), 400, detail);
          assert.ok(sent.startsWith(`Record ${position} (counted from 0) `), sent);
        }
      }
      // The first fault counts; what is not JSON comes before what is no record.
      await assertRefused(
        `1\n{}\nx\ny`,
        400,
        /^Record 2 .* at line 3, column 1: expected a value, found x/,
      );
    });

    await t.test(`bulk: ${name}: violated rules are 422 with the line`, async () => {
      const good = `${line('good')}\n`;
      const without = (value: string) => line('~').replace('"~"', value);
      for (const [value, code] of [
        ['4', 'type'],
        ['""', 'minLength'],
        ['"\\ud800"', 'format'],
      ] as const)
        await assertViolated(
          `${good}\n${good}${without(value)}\n${good}`,
          `#/2/${field}`,
          code,
          new RegExp(`^2\\.${field} must `),
        );
      for (const bad of ['1', 'null', `[${good.trim()}]`])
        await assertViolated(`${good}${bad}`, '#/1', 'type', /must be an object/);
      const all = await assertRefused('{}\n'.repeat(MAX_LINES), 422, /and \d+ more\.$/);
      assert.equal(all.errors.length, 20);
      assert.match(all.errors[0].pointer, /^#\/0\//);
      const last = MAX_LINES - 1;
      const { [field]: _, ...others } = JSON.parse(good);
      const body = `${good.repeat(last)}${JSON.stringify(others)}`;
      await assertViolated(body, `#/${last}/${field}`, 'required', /is required/);
    });

    await t.test(`bulk: ${name}: media types`, async () => {
      for (const type of ['Application/X-NDJSON', `${TYPE};charset=UTF8`])
        assert.equal((await post(line('x'), { 'content-type': type })).status, 201, type);
      for (const type of [`${TYPE}; charset=latin1`, 'application/jsonl']) {
        const { status, json, headers } = await post(line('x'), { 'content-type': type });
        assert.equal(status, 415, type);
        assert.match(
          json.detail,
          /Lines of JSON, one record in each, are application\/x-ndjson\.$/,
        );
        assert.ok(headers.accept?.startsWith(`application/json, ${TYPE}`));
      }
      assert.equal((await post(line('x'), { 'content-encoding': 'gzip' })).status, 415);
      // As JSON, two lines are no JSON text.
      const lines = `${line('x')}\n${line('x')}`;
      assert.equal((await post(lines, { 'content-type': 'application/json' })).status, 400);
    });

    if (!nested) return;
    await t.test(`bulk: ${name}: a missing owner is 404, after what is wrong`, async () => {
      const send = (body: string, owner = 999) => post(body, {}, path.replace('/3/', `/${owner}/`));
      const missing = await send(`${line('x')}\n${line('x')}`);
      assert.equal(missing.status, 404);
      assert.equal(missing.json.detail, 'Note with ID 999 was not found.');
      assert.equal((await send('{}')).status, 422);
      assert.equal((await send('{')).status, 400);
      const { location } = (await send(line('x'), 1)).headers;
      assert.equal(location, path.replace('/3/', '/1/'));
    });
  });
}

test('bulk: all other operations refuse lines with 415, and all refuse XML', async (t) => {
  const service = await startService(t);
  const collections = new Set(COLLECTIONS.map(({ path }) => path.replace('/3/', '/1/')));
  let count = 0;
  for (const [template, item] of Object.entries(contract.paths)) {
    const path = template.replace(/\{\w+\}/g, '1');
    for (const method of ['post', 'put', 'patch']) {
      if (!('requestBody' in ((item[method] ?? {}) as object))) continue;
      const takesLines = method === 'post' && collections.has(path);
      for (const type of takesLines ? ['text/xml'] : [TYPE, 'text/xml']) {
        const parts = { body: '{}', headers: { 'content-type': type } };
        const { status } = await service.request(method.toUpperCase(), path, parts);
        assert.equal(status, 415, `${method} ${path} ${type}`);
        count += 1;
      }
    }
  }
  assert.ok(count >= 24, String(count));
});

test('bulk: at most 5,000 tags on all lines together, by id and by name', async (t) => {
  const { send, post } = clientOf(await startService(t));
  const ids = Array.from({ length: 100 }, (_, index) => index + 1);
  await send('POST', '/tags', 201, lines(...ids.map((id) => ({ name: `${id}` }))));
  const byId = { ...NOTE, tag_ids: ids };
  const byName = (from: number) => ({ ...NOTE, tags: ids.map((id) => `${from + id}`) });
  const most = ids.slice(0, 50).map((id) => (id % 2 === 0 ? byId : byName(100 * id)));
  for (const [more, member] of [
    [[{ ...NOTE, tags: ['1'] }], 'tags'],
    [[{ ...NOTE, tag_ids: [1] }, NOTE], 'tag_ids'],
    [Array(450).fill(byId), 'tag_ids'],
  ] as const) {
    const { json } = await post(lines(...most, ...more), 422);
    const detail = 'must have fewer items: all lines may have 5000 tags together';
    assert.deepEqual(json.errors, [
      { field: `50.${member}`, in: 'body', pointer: `#/50/${member}`, code: 'maxItems', detail },
    ]);
  }
  const { json } = await send('GET', '/tags?limit=1', 200);
  assert.equal(json.total, 100);
  await post(lines(...most, NOTE, { ...NOTE, tags: [] }));
  const stored = await send('GET', '/notes?limit=52&include=tag_ids', 200);
  const counts = stored.json.items.map(({ tag_ids }: { tag_ids: number[] }) => tag_ids.length);
  assert.deepEqual(counts, [...Array(50).fill(100), 0, 0]);
});
