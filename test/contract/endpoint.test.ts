// The step between HTTP and a handler.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoint, type Input } from '../../src/contract/endpoint.ts';
import { Problem } from '../../src/http/problem.ts';
import { EMPTY_CALL } from '../support/bare-server.ts';

async function inputFor(
  method: 'GET' | 'POST',
  template: string,
  parts: Partial<Input<unknown, unknown>['call']>,
) {
  let seen: Input<unknown, unknown> | undefined;
  const route = endpoint(method, template, (input) => {
    seen = input;
    return { status: 200 };
  });
  await route.handle({ ...EMPTY_CALL, ...parts });
  return seen;
}

test('endpoint: a missing member has its default, in a copy of the body', async () => {
  const body = Object.freeze({ items: ['a'] });
  assert.deepEqual((await inputFor('POST', '/pool/run', { body }))?.body, {
    items: ['a'],
    max_workers: 4,
  });
  assert.deepEqual((await inputFor('POST', '/producer-consumer/run', { body }))?.body, {
    items: ['a'],
    num_consumers: 2,
    queue_size: 10,
  });
  assert.deepEqual(body, { items: ['a'] });
});

test('endpoint: a value in the request takes precedence over the default', async () => {
  const input = await inputFor('POST', '/pool/run', { body: { items: ['a'], max_workers: 1 } });
  assert.deepEqual(input?.body, { items: ['a'], max_workers: 1 });
});

test('endpoint: parameters by name, integers as numbers', async () => {
  const input = await inputFor('GET', '/notes/{note_id}/comments', {
    pathValues: ['07'],
    query: 'offset=3',
  });
  const given = Object.entries(input?.parameters ?? {}).filter(([, value]) => value !== undefined);
  const expected = { note_id: 7, limit: 20, offset: 3, order: 'id' };
  assert.deepEqual(Object.fromEntries(given), expected);
  assert.equal(input?.body, undefined);
});

test('endpoint: no handler is called with invalid input', async () => {
  const refused = inputFor('POST', '/pool/run', { body: { items: 'a' } });
  await assert.rejects(
    refused,
    (error) => error instanceof Problem && error.slug === 'validation-failed',
  );
});

test('endpoint: a malformed header is a 400 that names the header and nothing else', async () => {
  for (const [method, name, rule] of [
    ['GET', 'if-match', '* or a list of quoted entity tags'],
    [
      'POST',
      'idempotency-key',
      '1 to 128 letters, digits or characters of ._~:+/=-, bare or in double quotes',
    ],
  ] as const) {
    const refused = inputFor(method, '/notes', { headers: { [name]: 'a secret' } });
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual(
        [error.slug, error.message],
        ['bad-request', `The header ${name} must be ${rule}.`],
      );
      return true;
    });
  }
});

test('endpoint: an operation that the contract lacks is an error', () => {
  assert.throws(
    () => endpoint('GET', '/nothing', () => ({ status: 200 })),
    /the contract has no GET \/nothing/,
  );
  assert.throws(
    () => endpoint('DELETE', '/notes', () => ({ status: 200 })),
    /the contract has no DELETE \/notes/,
  );
});
