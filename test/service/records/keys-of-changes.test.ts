// Changes, deletions and restores with an idempotency key: each is carried out once, whatever
// happens to the note between the first request and its repetition.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { together } from '../../support/concurrent-clients.ts';
import { clusterAddress, temporaryFolder } from '../../support/engine.ts';
import type { Answer, RequestParts } from '../../support/http.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type Service, startService } from '../../support/service.ts';

type Request = readonly [method: string, path: string, json?: object];

interface Case {
  /** What the first request finds, beside a note with the id 1. */
  readonly before?: readonly Request[];
  readonly keyed: Request;
  /** What undoes it, before it is repeated. */
  readonly undo: readonly Request[];
}

const CHANGED: Request = ['PATCH', '/notes/1', { title: 'changed' }];

/** By what they do. Each request is sent to the note at its id, or to the one with its name. */
const CASES: Readonly<Record<string, Case>> = {
  'a change': { keyed: CHANGED, undo: [['PATCH', '/notes/1', { title: 'a' }]] },
  'a change of tags': {
    keyed: ['PATCH', '/notes/1', { tags: ['b'] }],
    undo: [['PATCH', '/notes/1', { tags: [] }]],
  },
  'a tag that is added': {
    keyed: ['PATCH', '/notes/1', { add_tags: ['b'], title: 'changed' }],
    undo: [['PATCH', '/notes/1', { remove_tags: ['b'], title: 'a' }]],
  },
  'a name': {
    keyed: ['PATCH', '/notes/1', { name: 'another' }],
    undo: [['PATCH', '/notes/1', { name: 'named' }]],
  },
  'a deletion': { keyed: ['DELETE', '/notes/1'], undo: [['POST', '/trash/1/restore']] },
  'a restore from the trash': {
    before: [['DELETE', '/notes/1']],
    keyed: ['POST', '/trash/1/restore'],
    undo: [['DELETE', '/notes/1']],
  },
  'a restore of a version': {
    before: [CHANGED],
    keyed: ['POST', '/notes/1/restore', { version: 1 }],
    undo: [CHANGED],
  },
  'an append': {
    keyed: ['POST', '/notes/1/append', { text: 'c' }],
    undo: [['PATCH', '/notes/1', { body: 'b' }]],
  },
  'an edit': {
    keyed: ['POST', '/notes/1/edit', { old_text: 'b', new_text: 'c' }],
    undo: [['PATCH', '/notes/1', { body: 'b' }]],
  },
};

const keyed = (parts: RequestParts = {}, key = 'a-key'): RequestParts => ({
  ...parts,
  headers: { 'idempotency-key': key },
});

const partsOf = ([, , json]: Request): RequestParts => (json ? { json } : {});
const isReplay = ({ headers }: Answer) => headers['idempotent-replayed'] === 'true';

/** What is stored, without the times. */
async function stateOf({ request }: Service): Promise<unknown> {
  const { json: notes } = await request('GET', '/notes?include=name,tags,etag');
  const { json: trash } = await request('GET', '/trash?fields=id');
  return [notes.items, trash.items];
}

const ENGINES: Readonly<
  Record<string, (t: Parameters<typeof startService>[0]) => Promise<Service>>
> = {
  'a file': (t) => startService(t, { db: `${temporaryFolder(t)}/notes.db` }),
  memory: (t) => startService(t, { db: ':memory:' }),
  'a cluster': async (t) => startService(t, { db: clusterAddress((await startStandIn(t)).nodes) }),
};

for (const [engine, start] of Object.entries(ENGINES))
  test(`keys of changes: each is carried out once, in ${engine}`, async (t) => {
    for (const [what, { before = [], keyed: first, undo }] of Object.entries(CASES)) {
      const [method, path] = first;
      const paths = [path, path.replace('/notes/1', '/named/named')];
      const isNamed = !/^\/trash|\/restore$/.test(path);
      for (const at of isNamed ? paths : [path]) {
        const label = `${what} at ${at}`;
        const service = await start(t);
        const send = (each: Request) => service.request(each[0], each[1], partsOf(each));
        await send(['PUT', '/named/named', { title: 'a', body: 'b' }]);
        for (const each of before) await send(each);
        const done = await service.request(method, at, keyed(partsOf(first)));
        assert.ok(done.status < 300 && !isReplay(done), `${label}: ${done.text}`);
        const changed = await stateOf(service);
        for (const each of undo) assert.ok((await send(each)).status < 300, label);
        const undone = await stateOf(service);
        assert.notDeepEqual(undone, changed, label);
        const again = await service.request(method, at, keyed(partsOf(first)));
        assert.deepEqual(await stateOf(service), undone, label);
        const isGone = /the trash/.test(what) || (what === 'a name' && at !== path);
        if (what === 'a restore from the trash')
          assert.equal(again.json.detail, 'Note with ID 1 was not found.');
        if (!isGone) assert.ok(again.status === done.status && isReplay(again), label);
        const other = await service.request(method, at, keyed({ json: { title: 'other' } }));
        if (method === 'PATCH') assert.equal(other.status, 422, label);
        await service.close();
      }
    }
  });

test('keys of changes: what was refused can be repeated, and is carried out then', async (t) => {
  const { request } = await startService(t);
  await request('PUT', '/named/named', { json: { title: 'a', body: 'b' } });
  const refused = keyed({ json: { title: 'c' } });
  const conditional = { ...refused, headers: { ...refused.headers, 'if-match': '"00000000-1"' } };
  assert.equal((await request('PATCH', '/notes/1', conditional)).status, 412);
  assert.equal((await request('PATCH', '/notes/1', refused)).json.title, 'c');
  assert.equal((await request('DELETE', '/notes/2', keyed())).status, 404);
  await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  assert.equal((await request('DELETE', '/notes/2', keyed())).status, 204);
  assert.ok(isReplay(await request('DELETE', '/notes/2', keyed())));
  assert.equal((await request('PATCH', '/named/nobody', refused)).status, 404);
});

const AT_NAMES: Readonly<Record<string, Request>> = {
  'a change': ['PATCH', '/named/named', { title: 'changed' }],
  'a deletion': ['DELETE', '/named/named'],
  'an append': ['POST', '/named/named/append', { text: 'c' }],
  'an edit': ['POST', '/named/named/edit', { old_text: 'b', new_text: 'c' }],
};

for (const [what, [method, path, json]] of Object.entries(AT_NAMES))
  test(`keys of changes: ${what} at a name is repeated after a rename`, async (t) => {
    const { request } = await startService(t);
    const send = () => request(method, path, keyed(json ? { json } : {}));
    await request('PUT', '/named/named', { json: { title: 'a', body: 'b' } });
    const first = await send();
    if (method !== 'DELETE') await request('PATCH', '/notes/1', { json: { name: 'other' } });
    const again = await send();
    assert.deepEqual([again.status, again.text, isReplay(again)], [first.status, first.text, true]);
    await request('DELETE', '/notes/1');
    if (method !== 'DELETE') assert.match((await send()).text, /No note is named named/);
    await request('PUT', '/named/named', { json: { title: 'new', body: 'b' } });
    const late = await send();
    if (method === 'PATCH') assert.match(late.text, /its note has been deleted since/);
    else assert.ok(isReplay(late));
    const { json: note } = await request('GET', '/named/named');
    assert.deepEqual([note.title, note.body], ['new', 'b']);
  });

test('keys of changes: several at once have each their own', async (t) => {
  const service = await startService(t);
  for (const title of 'abcdefgh')
    await service.request('POST', '/notes', { json: { title, body: 'b' } });
  const change = (index: number) =>
    service.request('PATCH', `/notes/${index + 1}`, keyed({ json: { body: 'c' } }, `${index}`));
  const answers = await together(service, 8, change);
  assert.ok(answers.every((each) => each.status === 200 && !isReplay(each)));
  for (let index = 0; index < 8; index += 1) assert.ok(isReplay(await change(index)));
});

test('keys of changes: of many at once, one is carried out', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b', tags: ['c'] } });
  const json = { title: 'd', remove_tags: ['c'] };
  const answers = await together(service, 8, () =>
    service.request('PATCH', '/notes/1', keyed({ json })),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(answers.filter((each) => !isReplay(each)).length, 1);
  const deletions = await together(service, 8, () =>
    service.request('DELETE', '/notes/1', keyed({}, 'another')),
  );
  assert.equal(deletions.filter((each) => each.status === 204 && !isReplay(each)).length, 1);
  assert.equal(deletions.filter(isReplay).length, 7);
});
