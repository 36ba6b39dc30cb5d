// An answer that is lost: the refusal has a key with which the call is repeated. Every tool that
// writes is carried out once, whether the first call was or not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, legacy } from '../../support/assistants.ts';
import { clusterAddress } from '../../support/engine.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type Service, startService } from '../../support/service.ts';

interface Listing {
  readonly name: string;
  readonly annotations: { readonly readOnlyHint: boolean };
}

/** Arguments of the tools that write, to which a test adds the etag. */
const CALLS: Readonly<Record<string, object>> = {
  create_note: { title: 'new', body: 'new', tags: ['x'] },
  append_to_note: { name: 'diary', text: 'more' },
  edit_note: { id: 1, old_text: 'text', new_text: 'texts' },
  update_note: { id: 1, body: 'changed' },
  delete_note: { name: 'diary' },
  tag_note: { id: 1, add: ['x'], remove: ['a'] },
  restore_note: { id: 2 },
  add_comment: { name: 'diary', text: 'comment' },
};

/** What has happened, by the types of changes. */
async function changesOf({ request }: Service): Promise<string[]> {
  const { json } = await request('GET', '/changes?since=2000-01-01T00:00:00Z');
  return json.items.map(({ type }: { readonly type: string }) => type);
}

async function prepare(service: Service): Promise<string> {
  const json = { title: 'diary', body: 'text', tags: ['a'] };
  const { headers } = await service.request('PUT', '/named/diary', { json });
  await service.request('POST', '/notes', { json });
  await service.request('DELETE', '/notes/2');
  return `${headers.etag}`.replaceAll('"', '');
}

test('repeated calls: every tool that writes takes a key', async (t) => {
  const service = await startService(t);
  const { json } = await service.request('POST', '/mcp', legacy('tools/list'));
  const writing = json.result.tools.filter(({ annotations }: Listing) => !annotations.readOnlyHint);
  assert.deepEqual(
    writing.map(({ name }: Listing) => name),
    Object.keys(CALLS),
  );
  for (const { inputSchema } of writing) assert.ok('retry_key' in inputSchema.properties);
});

for (const [name, args] of Object.entries(CALLS)) {
  test(`repeated calls: ${name} that was carried out, with an uncertain outcome`, async (t) => {
    const standIn = await startStandIn(t);
    const service = await startService(t, { db: clusterAddress(standIn.nodes) });
    const etag = await prepare(service);
    const given = name === 'update_note' ? { ...args, etag } : args;
    const before = await changesOf(service);
    // What the service does in the background has no key.
    standIn.faults.push({ fault: 'lost answer', of: 'execute', has: 'INTO notes_server_answers' });
    standIn.faults.push({ fault: 'stale', of: 'query', has: 'SELECT rows FROM' });
    const lost = await callTool(service, name, given);
    const [, key] = /may have been carried out\. .* retry_key "([\w-]+)"/.exec(lost.text) ?? [];
    assert.ok(lost.isError && key, lost.text);
    assert.deepEqual(standIn.faults, []);
    const once = await changesOf(service);
    assert.ok(once.length > before.length);
    for (const _ of ['once', 'again']) {
      const repeated = await callTool(service, name, { ...given, retry_key: key });
      assert.ok(!repeated.isError, repeated.text);
      assert.deepEqual(await changesOf(service), once);
    }
  });

  test(`repeated calls: ${name} is carried out by the first repetition`, async (t) => {
    const service = await startService(t);
    const etag = await prepare(service);
    const given = name === 'update_note' ? { ...args, etag } : args;
    const answers = [];
    for (const _ of ['first', 'second'])
      answers.push((await callTool(service, name, { ...given, retry_key: 'a-key' })).text);
    assert.equal(answers[1], answers[0]);
    // The same call without the key is another one.
    const before = await changesOf(service);
    const other = await callTool(service, name, { ...given, retry_key: 'another' });
    const isSame = (await changesOf(service)).length === before.length;
    assert.ok(other.isError || name === 'tag_note' ? isSame : !isSame, other.text);
  });
}

test('repeated calls: a refusal that is certain has no key', async (t) => {
  const service = await startService(t);
  const { text } = await callTool(service, 'delete_note', { id: 1 });
  assert.doesNotMatch(text, /retry_key/);
});
