// Scenarios with concurrent clients. The caller chooses the number of clients and rounds.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Answer } from './http.ts';
import { type Service, startService } from './service.ts';
import { assertSound, whileLocked } from './stored-data.ts';

/** Fewer than the connections that a test has to the service. */
export const IN_ONE_BATCH = 60;

function times<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/** Resolves with the answers to `count` requests that share a batch: all wait behind a write. */
export async function together(
  service: Service,
  count: number,
  send: (index: number) => Promise<Answer>,
): Promise<Answer[]> {
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

/** Creates the notes 1 to `count`. */
export async function createNotes(service: Service, count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    const json = { title: `note ${id}`, body: `note ${id}` };
    await service.request('POST', '/notes', { json });
  }
}

/** The status and detail of the answer where a record is missing. */
export function missing(label: string, id: number): [status: number, detail: string] {
  return [404, `${label} with ID ${id} was not found.`];
}

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

/** Writes to one record take effect in one order, and reads see the last acknowledged one. */
export async function writeOneRecord(t: TestContext, clients: number, rounds: number) {
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
  await times(clients, async (client) => {
    for (let round = 0; round < rounds; round += 1) {
      const title = `round ${round} of client ${client}`;
      const json = { title, body: title };
      await record('write', () => service.request('PUT', '/notes/1', { json }));
      await record('read', () => service.request('GET', '/notes/1'));
    }
  });
  await record('read', () => service.request('GET', '/notes/1'));
  assert.equal(events.length, 1 + clients * rounds * 2 + 1);
  assertOneOrder(events);
}

/** In each round, comments that arrive while their note is deleted are refused or go with it. */
export async function commentWhileDeleting(t: TestContext, rounds: number): Promise<void> {
  const service = await startService(t);
  const json = { title: 'x', body: 'x' };
  for (let id = 1; id <= rounds; id += 1) {
    const note = `/notes/${id}`;
    const comment = () => service.request('POST', `${note}/comments`, { json: { body: 'x' } });
    await service.request('POST', '/notes', { json });
    const answers = await together(service, 50, (index) =>
      index % 17 === 16 ? service.request('DELETE', note) : comment(),
    );
    answers.push(await comment());
    assert.equal(answers.filter(({ status }) => status === 204).length, 1);
    for (const answer of answers) {
      if (answer.status === 404) assert.equal(answer.json.detail, missing('Note', id)[1]);
      else assert.ok(answer.status === 201 || answer.status === 204);
    }
    assert.equal((await service.request('GET', `${note}/comments`)).status, 404);
    await assertSound(service.file);
  }
}
