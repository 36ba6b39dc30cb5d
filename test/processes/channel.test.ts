// The channel between two ends, which the test links by JSON messages, as between processes.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { openChannel, type Port } from '../../src/processes/channel.ts';

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

type Theirs = {
  readonly half: (number: number) => number;
  readonly fail: () => void;
  readonly hang: () => Promise<void>;
};

function linked() {
  const [left, right] = linkedPorts();
  const calls: string[] = [];
  const functions: Theirs = {
    half: (number) => number / 2,
    fail() {
      calls.push('fail');
      throw Object.assign(new Error('in use'), { code: 'EADDRINUSE', secret: 'x' });
    },
    hang: () => new Promise(() => {}),
  };
  openChannel(right, functions);
  return { calls, right, channel: openChannel<Theirs>(left, {}) };
}

test('channel: a call rejects with the error of the other end', async () => {
  const { channel } = linked();
  await assert.rejects(channel.fail(), (error: Error) => {
    assert.ok(error instanceof Error);
    assert.equal(error.message, 'in use');
    assert.deepEqual({ ...error }, { code: 'EADDRINUSE' });
    return true;
  });
});

test('channel: a message without answer may fail silently', async () => {
  const { channel, calls } = linked();
  await channel.fail.asEvent();
  assert.equal(await channel.half(2), 1);
  assert.deepEqual(calls, ['fail']);
});

test('channel: waiting and later calls reject when it closes', async () => {
  const { channel } = linked();
  const waiting = channel.hang();
  channel.$close(new Error('it has ended'));
  await assert.rejects(waiting, /it has ended/);
  await assert.rejects(channel.half(2), /closed/);
});

test('channel: messages of others are ignored', async () => {
  const { channel, right } = linked();
  for (const message of [null, 'text', 7, { cmd: 'NODE_CLUSTER' }, { 'watch:import': ['a'] }])
    right.send?.(message as object, undefined, undefined, () => {});
  assert.equal(await channel.half(2), 1);
});
