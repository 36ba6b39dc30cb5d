// Many clients at once: what shares a batch shares nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allItems } from '../../support/collections.ts';
import type { Answer } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertSound, whileLocked } from '../../support/stored-data.ts';

/** Fewer than the connections that a test has to the service. */
const IN_ONE_BATCH = 60;

function times<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/**
 * Resolves with the answers to the `count` requests that `send` starts. They all wait behind a write that waits for
 * another process: what they write travels in one batch, as far as they arrive before the read that follows them.
 */
async function together(service: Service, count: number, send: (index: number) => Promise<Answer>): Promise<Answer[]> {
  assert.ok(count < IN_ONE_BATCH);
  const waiting = await whileLocked(service.file, async () => {
    const first = service.request('DELETE', '/tags/0');
    const answers = times(count, send);
    assert.equal((await service.request('GET', '/tags/0')).status, 404);
    return { first, answers };
  });
  assert.equal((await waiting.first).status, 404);
  return waiting.answers;
}

async function createNotes(service: Service, count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    await service.request('POST', '/notes', { json: { title: `note ${id}`, body: `note ${id}` } });
  }
}

function missing(label: string, id: number): [status: number, detail: string] {
  return [404, `${label} with ID ${id} was not found.`];
}

test('1,000 concurrent creates get 1,000 distinct ids, and each keeps its own text', async (t) => {
  const service = await startService(t);
  const answers = await times(1_000, (index) =>
    service.request('POST', '/notes', { json: { title: `title ${index}`, body: `body ${index}` } }),
  );
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1_000);
  const stored = new Map((await allItems(service, '/notes')).map((item) => [item.id, item]));
  assert.equal(stored.size, 1_000);
  for (const [index, { status, json }] of answers.entries()) {
    assert.equal(status, 201);
    assert.equal(json.title, `title ${index}`);
    assert.deepEqual(stored.get(json.id), json);
  }
});

test('each of 64 clients reads its own writes', async (t) => {
  const service = await startService(t);
  await times(64, async (client) => {
    const { json } = await service.request('POST', '/notes', { json: { title: `client ${client}`, body: '0' } });
    for (let round = 1; round <= 20; round += 1) {
      const note = { title: `client ${client}`, body: String(round) };
      await service.request('PUT', `/notes/${json.id}`, { json: note });
      const read = await service.request('GET', `/notes/${json.id}`);
      assert.deepEqual(read.json, { id: json.id, ...note });
    }
    await service.request('DELETE', `/notes/${json.id}`);
    assert.equal((await service.request('GET', `/notes/${json.id}`)).status, 404);
  });
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
});

/** A write or a read of one record: what it wrote or saw, and the ticks between which it took effect. */
interface Event {
  readonly kind: 'write' | 'read';
  readonly value: string;
  readonly started: number;
  readonly ended: number;
}

/** Asserts that there is one order of the events that fits what was read: each read sees the write before it. */
function assertOneOrder(events: readonly Event[]): void {
  const writes = events.filter(({ kind }) => kind === 'write');
  const reads = events.filter(({ kind }) => kind === 'read');
  const sources = new Map(writes.map((write) => [write.value, write]));
  const writerOf = ({ value }: Event): Event => {
    const source = sources.get(value);
    assert.ok(source, `${value} was never written`);
    return source;
  };
  const before = (one: Event, other: Event) => one.ended < other.started;
  for (const read of reads) {
    const source = writerOf(read);
    assert.ok(!before(read, source), `${read.value} was read before it was written`);
    const between = writes.find((write) => before(source, write) && before(write, read));
    assert.equal(between, undefined, `${read.value} was read after ${between?.value} had been acknowledged`);
    const earlier = reads.find((each) => before(each, read) && before(source, writerOf(each)));
    assert.equal(earlier, undefined, `${read.value} was read after ${earlier?.value}, which was written later`);
  }
}

test('writes to one record take effect in one order, and the one acknowledged last is what is read', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  const events: Event[] = [{ kind: 'write', value: 'note 1', started: 0, ended: 1 }];
  let tick = 1;
  async function record(kind: Event['kind'], work: () => Promise<Answer>): Promise<void> {
    tick += 1;
    const started = tick;
    const { status, json } = await work();
    assert.deepEqual([status, json.body], [200, json.title]);
    tick += 1;
    events.push({ kind, value: json.title, started, ended: tick });
  }
  await times(32, async (client) => {
    for (let round = 0; round < 12; round += 1) {
      const title = `round ${round} of client ${client}`;
      await record('write', () => service.request('PUT', '/notes/1', { json: { title, body: title } }));
      await record('read', () => service.request('GET', '/notes/1'));
    }
  });
  await record('read', () => service.request('GET', '/notes/1'));
  assert.equal(events.length, 1 + 32 * 12 * 2 + 1);
  assertOneOrder(events);
});

test('a write to a missing note spoils nothing for those that share its batch', async (t) => {
  const service = await startService(t);
  await createNotes(service, 3);
  await service.request('DELETE', '/notes/2');
  const answers = await times(600, async (index) => {
    const noteId = (index % 4) + 1;
    const body = `comment ${index} of ${noteId}`;
    return { noteId, body, answer: await service.request('POST', `/notes/${noteId}/comments`, { json: { body } }) };
  });
  const created = new Map<number, Answer['json']>();
  for (const { noteId, body, answer } of answers) {
    if (noteId === 2 || noteId === 4) {
      assert.equal(answer.status, 404);
      assert.equal(answer.json.detail, `Note with ID ${noteId} was not found.`);
    } else {
      assert.deepEqual(answer.json, { id: answer.json.id, note_id: noteId, body });
      created.set(answer.json.id, answer.json);
    }
  }
  assert.equal(created.size, 300);
  const stored = [...(await allItems(service, '/notes/1/comments')), ...(await allItems(service, '/notes/3/comments'))];
  assert.equal(stored.length, 300);
  for (const item of stored) assert.deepEqual(item, created.get(item.id as number));
});

test('writes of all kinds share a batch, and each gets its own answer', async (t) => {
  const service = await startService(t);
  await createNotes(service, 4);
  await service.request('DELETE', '/notes/2');
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
  const kinds: ((index: number) => [method: string, path: string, json: object | undefined, answer: unknown[]])[] = [
    (index) => ['POST', '/notes/1/comments', { body: `${index}` }, [201, { note_id: 1, body: `${index}` }]],
    (index) => ['POST', '/notes/2/comments', { body: `${index}` }, missing('Note', 2)],
    (index) => ['POST', '/notes/3/comments', { body: `${index}` }, [201, { note_id: 3, body: `${index}` }]],
    (index) => ['POST', '/tags', { name: `${index}` }, [201, { name: `${index}` }]],
    (index) => ['POST', '/notes', { title: `${index}`, body: 'x' }, [201, { title: `${index}`, body: 'x' }]],
    (index) => ['PUT', '/notes/4', { title: `${index}`, body: 'x' }, [200, { title: `${index}`, body: 'x' }]],
    (index) => ['PUT', '/notes/2', { title: `${index}`, body: 'x' }, missing('Note', 2)],
    (index) => ['PUT', '/notes/1/comments/1', { body: `${index}` }, [200, { note_id: 1, body: `${index}` }]],
    () => ['PUT', '/notes/3/comments/1', { body: 'x' }, missing('Comment', 1)],
    () => ['DELETE', '/notes/3/comments/1', undefined, missing('Comment', 1)],
    () => ['DELETE', '/tags/99', undefined, missing('Tag', 99)],
  ];
  const calls = Array.from({ length: IN_ONE_BATCH - 1 }, (_, index) => kinds[index % kinds.length]?.(index) ?? []);
  const answers = await together(service, calls.length, (index) => {
    const [method = '', path = '', json] = calls[index] ?? [];
    return service.request(method, path, json ? { json } : {});
  });
  for (const [index, { status, json, headers }] of answers.entries()) {
    const { id, detail, ...record } = json;
    assert.deepEqual([status, detail ?? record], calls[index]?.[3], `${calls[index]}`);
    if (status === 201) assert.deepEqual((await service.request('GET', String(headers.location))).json, json);
    if (status === 200) assert.equal(id, Number(calls[index]?.[1]?.split('/').at(-1)));
  }
  const created = answers.filter(({ status }) => status === 201).map(({ headers }) => headers.location);
  assert.equal(new Set(created).size, created.length);
  await assertSound(service.file);
});

test('of many who delete one record, exactly one has deleted it', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  for (const [label, path] of [
    ['Comment', '/notes/1/comments/1'],
    ['Tag', '/tags/1'],
    ['Note', '/notes/1'],
  ] as const) {
    if (label !== 'Note') {
      await service.request('POST', path.slice(0, path.lastIndexOf('/')), { json: { name: 'x', body: 'x' } });
    }
    const answers = await together(service, 50, () => service.request('DELETE', path));
    assert.equal(answers.filter(({ status }) => status === 204).length, 1, label);
    for (const { status, json } of answers) {
      if (status !== 204) assert.deepEqual([status, json.detail], missing(label, 1));
    }
  }
  await assertSound(service.file);
});

test('a record that is replaced and deleted at once is gone, and whoever comes later is told so', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  const json = { title: 'new', body: 'new' };
  const answers = await together(service, 50, (index) =>
    index === 25 ? service.request('DELETE', '/notes/1') : service.request('PUT', '/notes/1', { json }),
  );
  assert.equal(answers[25]?.status, 204);
  for (const [index, answer] of answers.entries()) {
    if (answer.status === 200) assert.deepEqual(answer.json, { id: 1, ...json });
    else if (index !== 25) assert.deepEqual([answer.status, answer.json.detail], missing('Note', 1));
  }
  assert.equal((await service.request('GET', '/notes/1')).status, 404);
});

test('comments that arrive while their note is deleted are refused or go with it', async (t) => {
  const service = await startService(t);
  const comment = (id: number) => service.request('POST', `/notes/${id}/comments`, { json: { body: 'x' } });
  for (let id = 1; id <= 10; id += 1) {
    await service.request('POST', '/notes', { json: { title: 'x', body: 'x' } });
    const all = [
      ...(await together(service, 50, (index) =>
        index % 17 === 16 ? service.request('DELETE', `/notes/${id}`) : comment(id),
      )),
      await comment(id),
    ];
    assert.equal(all.filter(({ status }) => status === 204).length, 1);
    for (const { status, json } of all) {
      if (status === 404) assert.deepEqual([status, json.detail], missing('Note', id));
      else assert.ok(status === 201 || status === 204);
    }
    assert.equal((await service.request('GET', `/notes/${id}/comments`)).status, 404);
    await assertSound(service.file);
  }
});
