// The channel between two ends, which the test links by JSON messages, as between processes.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Channel, type Port } from '../../src/processes/channel.ts';

/** Returns two ports; each receives what the other sends. */
function linkedPorts(): [Port, Port] {
  const [left, right] = [new EventEmitter(), new EventEmitter()];
  const portOf = (own: EventEmitter, other: EventEmitter): Port => ({
    send(message, _handle, _options, sent) {
      const text = JSON.stringify(message);
      setImmediate(() => {
        other.emit('message', JSON.parse(text));
        sent();
      });
      return true;
    },
    on: (event, listener) => own.on(event, listener),
  });
  return [portOf(left, right), portOf(right, left)];
}

type Theirs = { readonly half: (number: number) => Promise<number>; readonly fail: () => void };

function linked() {
  const [left, right] = linkedPorts();
  const calls: string[] = [];
  const functions: Theirs = {
    async half(number) {
      // Larger numbers take longer.
      for (let count = 0; count < number; count += 1) await nextTurn();
      return number / 2;
    },
    fail() {
      calls.push('fail');
      throw Object.assign(new Error('in use'), { code: 'EADDRINUSE', secret: 'x' });
    },
  };
  new Channel(right, functions);
  return { calls, right, channel: new Channel<Theirs>(left, {}) };
}

test('channel: each call gets its own answer, in any order', async () => {
  const { channel } = linked();
  const answers = [6, 0, 4].map((number) => channel.call('half', number));
  assert.deepEqual(await Promise.all(answers), [3, 0, 2]);
});

test('channel: a call rejects with the error of the other end', async () => {
  const { channel } = linked();
  await assert.rejects(channel.call('fail'), (error: Error) => {
    assert.ok(error instanceof Error);
    assert.equal(error.message, 'in use');
    assert.deepEqual({ ...error }, { code: 'EADDRINUSE' });
    return true;
  });
});

test('channel: a message without answer may fail silently', async () => {
  const { channel, calls } = linked();
  channel.notify('fail');
  await channel.call('half', 2);
  assert.deepEqual(calls, ['fail']);
});

test('channel: waiting and later calls reject when it closes', async () => {
  const { channel } = linked();
  const waiting = channel.call('half', 1_000);
  channel.close();
  await assert.rejects(waiting, /the other process has ended/);
  await assert.rejects(channel.call('half', 2), /the other process has ended/);
});

test('channel: messages of others are ignored', async () => {
  const { channel, right } = linked();
  for (const message of [null, 'text', 7, { cmd: 'NODE_CLUSTER' }, { answers: 99 }])
    right.send?.(message as object, undefined, undefined, () => {});
  assert.equal(await channel.call('half', 2), 1);
});
