// The official clients of the Model Context Protocol, of both eras, as assistants use them: they
// connect, read, write, meet a conflict and are refused.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as current from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import * as old from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LEGACY, MODERN, withKeys } from '../../support/assistants.ts';
import { startService } from '../../support/service.ts';

const INFO = { name: 'a-test', version: '1.0.0' };
const WRITER = 'a-key-for-writing';
const READER = 'a-key-for-reading';
const KEYED = withKeys({ after }, WRITER, `${READER} access=read`);

/** What the test needs of a client; both kinds have it. */
type Client = Pick<current.Client, 'close' | 'getServerVersion' | 'getInstructions'> & {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
};

type Connect = (url: URL, key: string, errors: Error[]) => Promise<Client>;

const init = (key: string) => ({
  requestInit: { headers: { authorization: `Bearer ${key}` } },
});

function byCurrent(mode: current.VersionNegotiationMode, version: string): Connect {
  return async (url, key, errors) => {
    const client = new current.Client(INFO, { versionNegotiation: { mode } });
    client.onerror = (error) => errors.push(error);
    await client.connect(new current.StreamableHTTPClientTransport(url, init(key)));
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    return client;
  };
}

const CLIENTS: Readonly<Record<string, Connect>> = {
  'version 2, which finds out': byCurrent('auto', MODERN),
  'version 2, without a handshake': byCurrent({ pin: MODERN }, MODERN),
  'version 2, with a handshake': byCurrent('legacy', LEGACY[0]),
  'version 1': async (url, key, errors) => {
    const client = new OldClient(INFO);
    client.onerror = (error) => errors.push(error);
    // biome-ignore lint/suspicious/noExplicitAny: its types forbid undefined for optional members.
    await client.connect(new old.StreamableHTTPClientTransport(url, init(key)) as any);
    return client;
  },
};

async function call(client: Client, name: string, args: Record<string, unknown>) {
  const { content, isError } = (await client.callTool({ name, arguments: args })) as {
    content: [{ text: string }];
    isError?: boolean;
  };
  return { text: content[0].text, isError: isError ?? false };
}

async function read(client: Client, name: string, args: Record<string, unknown>) {
  const { text, isError } = await call(client, name, args);
  assert.ok(!isError, text);
  return JSON.parse(text);
}

// One for all: their connections stay open, and the service waits for them when it stops.
const { url } = await startService({ after }, KEYED);

for (const [name, connect] of Object.entries(CLIENTS)) {
  const connectBy = (key: string, errors: Error[] = []) =>
    connect(new URL(`${url}/mcp`), key, errors);

  test(`official clients: ${name} reads and writes`, async () => {
    const errors: Error[] = [];
    const client = await connectBy(WRITER, errors);
    assert.equal(client.getServerVersion()?.name, 'notes-server');
    assert.ok(client.getInstructions());
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    assert.ok(names[0] === 'search_notes' && names.length >= 10);

    const { id } = await read(client, 'create_note', { title: name, body: 'Milk' });
    await read(client, 'append_to_note', { id, text: 'Bread' });
    const { etag, body } = await read(client, 'get_note', { id });
    assert.match(body, /^Milk\s+Bread$/);
    assert.equal((await read(client, 'search_notes', { query: `"${name}" bread` })).total, 1);

    await read(client, 'edit_note', { id, old_text: 'Milk', new_text: 'Cheese' });
    const changed = { id, title: 'Mine' };
    const conflict = await call(client, 'update_note', { ...changed, etag });
    assert.ok(conflict.isError);
    assert.match(conflict.text, /get_note/);
    const fresh = await read(client, 'get_note', { id });
    await read(client, 'update_note', { ...changed, etag: fresh.etag });
    assert.equal((await read(client, 'get_note', { id })).title, 'Mine');

    assert.ok((await call(client, 'get_note', { id: 4_711 })).isError);
    await client.close();
    assert.deepEqual(errors, []);
  });

  test(`official clients: ${name} only reads with a key for reading`, async () => {
    const client = await connectBy(READER);
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    const lists = ['list_trash', 'list_comments', 'list_tags', 'list_changes'];
    assert.deepEqual(names, ['search_notes', 'get_note', ...lists]);
    const refusal = await call(client, 'create_note', { title: 'a', body: 'b' });
    assert.deepEqual([refusal.isError, /may only read/.test(refusal.text)], [true, true]);
    assert.equal((await read(client, 'search_notes', { query: 'nothing' })).total, 0);
    await client.close();
    await assert.rejects(connectBy('no-key'), /401|asks for a key|not known/);
  });
}
