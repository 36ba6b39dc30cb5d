// Many clients at once: requests that share a batch share nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createNotes,
  IN_ONE_BATCH,
  missing,
  times,
  together,
} from '../../support/concurrent-clients.ts';
import type { Answer } from '../../support/http.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const CLIENTS = 8;
const ROUNDS = 4;

/** A write or read of one record: the value, and the ticks between which it took effect. */
interface Event {
  readonly kind: 'write' | 'read';
  readonly value: string;
  readonly started: number;
  readonly ended: number;
}

/** Asserts that the events fit one order in which each read sees the write before it. */
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
    assert.equal(
      between,
      undefined,
      `${read.value} was read after ${between?.value} had been acknowledged`,
    );
    const earlier = reads.find((each) => before(each, read) && before(source, writerOf(each)));
    assert.equal(
      earlier,
      undefined,
      `${read.value} was read after ${earlier?.value}, which was written later`,
    );
  }
}

test('clients: writes to one record take effect in one order', async (t) => {
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
  await times(CLIENTS, async (client) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const title = `round ${round} of client ${client}`;
      const json = { title, body: title };
      await record('write', () => service.request('PUT', '/notes/1', { json }));
      await record('read', () => service.request('GET', '/notes/1'));
    }
  });
  await record('read', () => service.request('GET', '/notes/1'));
  assert.equal(events.length, 1 + CLIENTS * ROUNDS * 2 + 1);
  assertOneOrder(events);
});

test('clients: comments while their note is deleted', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  const comment = () => service.request('POST', '/notes/1/comments', { json: { body: 'x' } });
  const answers = await together(service, 50, (index) =>
    index % 17 === 16 ? service.request('DELETE', '/notes/1') : comment(),
  );
  answers.push(await comment());
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  for (const answer of answers) {
    if (answer.status === 404) assert.equal(answer.json.detail, missing('Note', 1)[1]);
    else assert.ok(answer.status === 201 || answer.status === 204);
  }
  assert.equal((await service.request('GET', '/notes/1/comments')).status, 404);
  await assertSound(service.file);
});

const KINDS: readonly ((
  text: string,
) => readonly [
  request: string,
  json: Readonly<Record<string, string>> | undefined,
  answer: readonly [status: number, shown: object | string],
])[] = [
  (body) => ['POST /notes/1/comments', { body }, [201, { note_id: 1, body }]],
  (body) => ['POST /notes/2/comments', { body }, missing('Note', 2)],
  (body) => ['POST /notes/3/comments', { body }, [201, { note_id: 3, body }]],
  (name) => ['POST /tags', { name }, [201, { name }]],
  (title) => ['POST /notes', { title, body: 'x' }, [201, { title, body: 'x' }]],
  (title) => ['PUT /notes/4', { title, body: 'x' }, [200, { id: 4, title, body: 'x' }]],
  (title) => ['PUT /notes/2', { title, body: 'x' }, missing('Note', 2)],
  (body) => ['PUT /notes/1/comments/1', { body }, [200, { id: 1, note_id: 1, body }]],
  (body) => ['PUT /notes/3/comments/1', { body }, missing('Comment', 1)],
  () => ['DELETE /notes/3/comments/1', undefined, missing('Comment', 1)],
  () => ['DELETE /tags/99', undefined, missing('Tag', 99)],
];

test('clients: writes of all kinds in one batch', async (t) => {
  const service = await startService(t);
  await createNotes(service, 4);
  await service.request('DELETE', '/notes/2');
  await service.request('POST', '/notes/1/comments', { json: { body: 'of one' } });
  const count = IN_ONE_BATCH - 1;
  const kindOf = (index: number) => KINDS[index % KINDS.length] ?? assert.fail();
  const answers = await together(service, count, (index) => {
    const [request, json] = kindOf(index)(`${index}`);
    const [method = '', path = ''] = request.split(' ');
    return service.request(method, path, { json });
  });
  const created: unknown[] = [];
  for (const [index, { status, json, headers }] of answers.entries()) {
    const [request, , [wanted, shown]] = kindOf(index)(`${index}`);
    assert.equal(status, wanted, request);
    if (typeof shown === 'string') assert.equal(json.detail, shown, request);
    else assert.deepEqual(json, expected({ id: json.id, ...shown }), request);
    if (status !== 201) continue;
    assert.deepEqual((await service.request('GET', String(headers.location))).json, json);
    created.push(headers.location);
  }
  assert.equal(new Set(created).size, created.length);
  await assertSound(service.file);
});

test('clients: of many deletes of a record one succeeds', async (t) => {
  const service = await startService(t);
  await createNotes(service, 1);
  await service.request('POST', '/notes/1/comments', { json: { body: 'x' } });
  await service.request('POST', '/tags', { json: { name: 'x' } });
  for (const [label, path] of [
    ['Comment', '/notes/1/comments/1'],
    ['Tag', '/tags/1'],
    ['Note', '/notes/1'],
  ] as const) {
    const answers = await together(service, 50, () => service.request('DELETE', path));
    const refused = answers.filter(({ status }) => status !== 204);
    assert.equal(refused.length, 49, label);
    for (const { status, json } of refused)
      assert.deepEqual([status, json.detail], missing(label, 1));
  }
  await assertSound(service.file);
});
