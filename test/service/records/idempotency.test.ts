// Retries with an idempotency key: what was done once is not done again, and is answered alike.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  bodyFor,
  COLLECTIONS,
  type CollectionUnderTest,
  inputOf,
  prepare,
} from '../../support/collections.ts';
import { together } from '../../support/concurrent-clients.ts';
import { needsFile } from '../../support/engine.ts';
import { shortenLockWaits } from '../../support/failing-driver.ts';
import { type Answer, type RequestParts, request } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertUnavailable, NOTE } from '../../support/storage-faults.ts';
import { assertSound, whileLocked } from '../../support/stored-data.ts';
import { lines } from '../../support/tagged-notes.ts';
import { until } from '../../support/until.ts';

const DAY_MS = 86_400_000;

const service = await startService({ after });

const keyed = (key: string, parts: RequestParts): RequestParts => ({
  ...parts,
  headers: { 'idempotency-key': key, ...parts.headers },
});

const bodiesOf = (collection: CollectionUnderTest): [RequestParts, RequestParts][] => {
  const [one, other] = [inputOf(collection, 'one'), inputOf(collection, 'other')];
  return [
    [{ json: one }, { json: other }],
    [lines(one, other, one), lines(one, other)],
  ];
};

let lastKey = 0;
function newKey(): string {
  lastKey += 1;
  return `key-${lastKey}`;
}

const isReplay = ({ headers }: Answer) => headers['idempotent-replayed'] === 'true';

function assertFirst(answer: Answer): Answer {
  assert.deepEqual([answer.status, isReplay(answer)], [201, false], answer.text);
  return answer;
}

/** Asserts that `answer` is `first` again, except for what belongs to the request. */
function assertReplay(answer: Answer, first: Answer): void {
  const contentOf = ({ status, headers, bytes }: Answer) => {
    const { date, 'x-request-id': id, 'idempotent-replayed': replayed, ...rest } = headers;
    return { status, headers: rest, bytes };
  };
  assert.ok(isReplay(answer), answer.text);
  assert.deepEqual(contentOf(answer), contentOf(first));
}

function assertReused({ status, json }: Answer): void {
  assert.equal(status, 422);
  assert.match(json.type, /\/problems\/idempotency-key-reused$/);
}

const totalOf = async (at: Service, path: string) => (await at.request('GET', path)).json.total;

for (const collection of COLLECTIONS) {
  const { label, path, owner } = collection;

  test(`idempotency: ${label}s are created once, whatever happens to them`, async (t) => {
    let own = await startService(t);
    await prepare(own, collection);
    const firsts: { parts: RequestParts; otherParts: RequestParts; answer: Answer }[] = [];
    for (const [body, otherBody] of bodiesOf(collection)) {
      const key = newKey();
      const parts = keyed(key, body);
      const answer = assertFirst(await own.request('POST', path, parts));
      firsts.push({ parts, otherParts: keyed(key, otherBody), answer });
    }
    const assertKept = async () => {
      for (const { parts, otherParts, answer } of firsts) {
        assertReplay(await own.request('POST', path, parts), answer);
        assertReused(await own.request('POST', path, otherParts));
      }
    };

    await assertKept();
    const list = await own.request('GET', path);
    assert.deepEqual(
      list.json.items.map((item: unknown) => JSON.stringify(item)),
      firsts.flatMap(({ answer }) => answer.text.split('\n').filter(Boolean)),
    );
    for (const item of list.json.items)
      await own.request('PUT', `${path}/${item.id}`, { json: inputOf(collection, 'changed') });
    await assertKept();
    await own.close();
    own = await startService(t, { db: own.file });
    await assertKept();
    for (const item of list.json.items) await own.request('DELETE', `${path}/${item.id}`);
    await assertKept();
    assert.deepEqual((await own.request('GET', path)).json.items, []);
    if (owner) {
      await own.request('DELETE', path.slice(0, path.lastIndexOf('/')));
      await assertKept();
      const late = keyed(newKey(), firsts[0]?.parts ?? {});
      assert.equal((await own.request('POST', path, late)).status, 201);
    }
    await assertSound(own.file);
  });

  test(`idempotency: a key of ${label}s counts for the same bytes in the same format`, async () => {
    await prepare(service, collection);
    const record = inputOf(collection, 'x');
    const key = newKey();
    const first = assertFirst(await service.request('POST', path, keyed(key, { json: record })));
    const others: RequestParts[] = [
      lines(record),
      { json: { ...record, id: 1 } },
      { body: `${JSON.stringify(record)} `, headers: { 'content-type': 'application/json' } },
    ];
    for (const parts of others)
      assertReused(await service.request('POST', path, keyed(key, parts)));
    const otherType = { 'content-type': 'application/other+json' };
    const replays = [{ json: record }, { body: JSON.stringify(record), headers: otherType }];
    for (const parts of replays)
      assertReplay(await service.request('POST', path, keyed(key, parts)), first);
  });
}

test('idempotency: a key has 1 to 128 characters, bare or in quotes', async () => {
  const create = (key: string | string[]) =>
    service.request('POST', '/notes', { json: NOTE, headers: { 'idempotency-key': key } });
  const all = 'ABCXYZabcxyz0189._~:+/=-';
  for (const key of ['k', all, 'x'.repeat(128)]) {
    const first = assertFirst(await create(key));
    assertReplay(await create(key), first);
    assertReplay(await create(`"${key}"`), first);
  }
  const total = await totalOf(service, '/notes');
  const malformed = [
    ...['', '""', '"a', 'a"', 'a b', 'a,b', "'a'", 'a*', 'é', '"a\\"', 'x'.repeat(129)],
    ...[
      ['a', 'a'],
      ['"a"', '"b"'],
    ],
  ];
  for (const key of malformed) {
    const { status, json } = await create(key);
    assert.equal(status, 400, String(key));
    assert.match(json.detail, /^The header idempotency-key must be 1 to 128 /);
  }
  assert.equal(await totalOf(service, '/notes'), total);
});

test('idempotency: the other methods ignore keys', async () => {
  const { headers, json } = await service.request('POST', '/notes', { json: NOTE });
  const path = String(headers.location);
  const malformed = { 'idempotency-key': 'not a key' };
  for (const method of ['GET', 'PUT']) {
    const parts = method === 'PUT' ? { json: { ...json, title: 'new' } } : {};
    const answer = await service.request(method, path, { ...parts, headers: malformed });
    assert.ok(answer.status < 300, method);
    assert.equal(answer.headers['idempotent-replayed'], undefined);
  }
});

test('idempotency: each path has its own keys', async () => {
  const key = newKey();
  await service.request('POST', '/notes', lines(NOTE, NOTE));
  const paths = ['/notes', '/tags', '/notes/1/comments', '/notes/2/comments'];
  const firsts: Answer[] = [];
  const create = (path: string) =>
    service.request('POST', path, keyed(key, { json: bodyFor(path) }));
  for (const path of paths) firsts.push(assertFirst(await create(path)));
  for (const [index, path] of paths.entries())
    assertReplay(await create(path), firsts[index] as Answer);
});

test('idempotency: a key outlives a change of the base URL', async (t) => {
  const before = await startService(t);
  const parts = keyed(newKey(), { json: NOTE });
  assertFirst(await before.request('POST', '/notes', parts));
  await before.close();
  const moved = await startService(t, { db: before.file, baseUrl: 'http://example.org/api' });
  const again = await moved.request('POST', '/notes', parts);
  assert.ok(isReplay(again), again.text);
  assert.equal(again.headers.location, '/api/notes/1');
});

test('idempotency: each API key has its own keys', async (t) => {
  const open = await startService(t);
  const key = newKey();
  const create = (at: Service, apiKey = '') =>
    at.request('POST', '/notes', keyed(key, { json: NOTE, headers: { 'x-api-key': apiKey } }));
  const anonymous = assertFirst(await create(open));
  assertReplay(await create(open, 'one'), anonymous);
  await open.close();

  const guarded = await startService(t, { db: open.file, apiKeys: ['one', 'two'] });
  const first = assertFirst(await create(guarded, 'one'));
  assertFirst(await create(guarded, 'two'));
  assertReplay(await create(guarded, 'one'), first);
  assert.equal((await create(guarded, 'three')).status, 401);
});

test('idempotency: only a success is recorded', async (t) => {
  const own = await startService(t);
  const key = newKey();
  const create = (parts: RequestParts, path = '/notes/1/comments') =>
    own.request('POST', path, keyed(key, parts));
  const comment = { json: { body: 'b' } };
  const type = { 'content-type': 'text/xml' };
  const failures: [status: number, parts: RequestParts][] = [
    [404, comment],
    [404, lines({ body: 'b' })],
    [422, { json: {} }],
    [422, lines({ body: 'b' }, {})],
    [422, lines()],
    [400, { body: '{', headers: { 'content-type': 'application/json' } }],
    [415, { body: '{}', headers: type }],
    [413, { body: Buffer.alloc(2_000_000, ' '), headers: { 'content-type': 'application/json' } }],
  ];
  for (const [status, parts] of failures) assert.equal((await create(parts)).status, status);
  await own.request('POST', '/notes', { json: NOTE });
  const first = assertFirst(await create(comment));
  assertReplay(await create(comment), first);
  // What is wrong with a request comes before its key.
  for (const [status, parts] of failures.slice(2))
    assert.equal((await create(parts)).status, status);
  assert.equal(await totalOf(own, '/notes/1/comments'), 1);
});

test('idempotency: after a 503, a retry counts as the first', { skip: needsFile }, async (t) => {
  shortenLockWaits(t, 1);
  const own = await startService(t);
  const parts = keyed(newKey(), { json: NOTE });
  await whileLocked(own.file, async () => {
    assertUnavailable(await own.request('POST', '/notes', parts));
  });
  const first = assertFirst(await own.request('POST', '/notes', parts));
  assertReplay(await own.request('POST', '/notes', parts), first);
  assert.equal(await totalOf(own, '/notes'), 1);
});

function assertOneFirst(answers: readonly Answer[]): void {
  const [first, ...rest] = answers.filter((answer) => !isReplay(answer));
  assert.ok(first);
  assertFirst(first);
  assert.deepEqual(rest, []);
  for (const answer of answers) if (answer !== first) assertReplay(answer, first);
}

test('idempotency: of concurrent requests with one key, one is carried out', async (t) => {
  const own = await startService(t);
  const [notes, tags, comments] = ['/notes', '/tags', '/notes/1/comments'].map(bodyFor);
  const kinds: [path: string, parts: RequestParts][] = [
    ['/notes', keyed(newKey(), { json: notes })],
    ['/notes', keyed(newKey(), lines(bodyFor('/notes'), bodyFor('/notes')))],
    ['/tags', keyed(newKey(), { json: tags })],
    ['/notes/1/comments', keyed(newKey(), { json: comments })],
    ['/notes/9/comments', keyed(newKey(), { json: comments })],
    ['/tags', { json: tags }],
  ];
  await own.request('POST', '/notes', { json: notes });
  const answers = await together(own, 54, (index) => {
    const [path, parts] = kinds[index % kinds.length] ?? assert.fail();
    return own.request('POST', path, parts);
  });
  const ofKind = (kind: number) => answers.filter((_, index) => index % kinds.length === kind);
  for (const kind of [0, 1, 2, 3]) assertOneFirst(ofKind(kind));
  for (const { status } of ofKind(4)) assert.equal(status, 404);
  for (const answer of ofKind(5)) assertFirst(answer);
  const totals = ['/notes', '/tags', '/notes/1/comments'].map((path) => totalOf(own, path));
  assert.deepEqual(await Promise.all(totals), [1 + 1 + 2, 1 + 9, 1]);
  await assertSound(own.file);
});

test('idempotency: of concurrent requests with different bodies, one is refused', async () => {
  const key = newKey();
  const before = await totalOf(service, '/tags');
  const answers = await together(service, 20, (index) =>
    service.request('POST', '/tags', keyed(key, { json: { name: `name ${index % 2}` } })),
  );
  const names = answers.flatMap(({ status, json }) => (status === 201 ? [json.name] : []));
  assert.deepEqual([names.length, new Set(names).size], [10, 1]);
  assert.equal(answers.filter(({ status }) => status === 422).length, 10);
  assert.equal(await totalOf(service, '/tags'), before + 1);
});

test('idempotency: processes share keys', async (t) => {
  const several = await startProcesses(t, 2);
  const pids = several.serving();
  let rounds = 0;
  await until(async () => {
    const start = several.lines.length;
    const parts = keyed(newKey(), { json: NOTE });
    const post = () => request(several.url, 'POST', '/notes', parts);
    assertOneFirst(await Promise.all(Array.from({ length: 20 }, post)));
    rounds += 1;
    const answered = several.lines.slice(start).map((line) => line.process);
    return pids.every((pid) => answered.includes(pid));
  });
  assert.equal((await request(several.url, 'GET', '/notes')).json.total, rounds);
});

test('idempotency: a clock that is set forward forgets no key', async (t) => {
  const parts = keyed(newKey(), { json: NOTE });
  const create = () => service.request('POST', '/notes', parts);
  const first = assertFirst(await create());
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + 10 * DAY_MS);
  await service.request('POST', '/tags', keyed(newKey(), { json: { name: 'a' } }));
  assertReplay(await create(), first);
});
