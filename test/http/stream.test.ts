import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sendChunks } from '../../src/http/reply.ts';
import { startListener } from '../support/ports.ts';

/** More than the client may leave unread, and than the sockets buffer. */
const LARGE = Buffer.alloc(16 * 1_048_576, 'a chunk, ');

test('streams: a chunk of any length reaches a client that reads', async (t) => {
  async function* chunks() {
    yield { bytes: LARGE, hasMore: false };
    await nextTurn();
    yield { bytes: Buffer.from('end'), hasMore: false };
  }
  const url = await startListener(t, (_, response) => void sendChunks(response, chunks()));
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  assert.ok(bytes.equals(Buffer.concat([LARGE, Buffer.from('end')])), `${bytes.length} bytes`);
});
