import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { receiveBody } from '../../../src/http/body/read.ts';
import { collectGarbage } from '../../support/heap.ts';

const READ_BYTES = 65_536;
const CHUNKS = 3_000;
const GROWTH_BYTES = 100_000_000;

test('bodies: small chunks do not retain the buffers they came in', async () => {
  const message = new EventEmitter() as IncomingMessage;
  const body = receiveBody(message, CHUNKS, () => {});
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < CHUNKS; index += 1) {
    message.emit('data', Buffer.allocUnsafeSlow(READ_BYTES).fill(97, 0, 1).subarray(0, 1));
  }
  collectGarbage();
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.ok(grown < GROWTH_BYTES, `${grown} bytes`);
  message.emit('end');
  assert.equal(String(await body), 'a'.repeat(CHUNKS));
});
