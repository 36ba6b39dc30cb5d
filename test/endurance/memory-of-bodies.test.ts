// Bodies that take more memory than their bytes unless their chunks are joined.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { chunk, exchange, NOTE, requestText } from '../support/raw.ts';

test('bodies: a million chunks of one byte in a small heap', async (t) => {
  // Kept apart, the chunks would take several hundred MB of heap.
  const command = startCommand(t, ['--port', '0'], { node: ['--max-old-space-size=64'] });
  const service = { port: Number(new URL(await command.ready()).port) };
  const start = requestText('POST /notes', ['transfer-encoding: chunked', 'connection: close']);
  const body = [...NOTE.padEnd(1_000_000)].map(chunk).join('');
  assert.equal((await exchange(service, start, body, '0\r\n\r\n')).status, 201);
  assert.equal((await stop(command)).status, 0);
});
