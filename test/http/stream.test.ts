import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sendChunks } from '../../src/http/stream.ts';

/** More than the client may leave unread, and than the sockets buffer. */
const LARGE = Buffer.alloc(16 * 1_048_576, 'a');

test('streams: a chunk of any length reaches a client that reads', async (t) => {
  async function* chunks() {
    yield { bytes: LARGE, hasMore: false };
    await nextTurn();
    yield { bytes: Buffer.from('end'), hasMore: false };
  }
  const server = createServer((_, response) => void sendChunks(response, chunks())).listen(0);
  t.after(() => server.close());
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const text = await answer.text();
  assert.equal(text.length, LARGE.length + 3);
  assert.ok(text.endsWith('end'));
});
