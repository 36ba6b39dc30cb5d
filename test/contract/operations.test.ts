// The operations of the contract are compiled as declared, and their declarations are consistent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoint } from '../../src/contract/endpoint.ts';
import { operations } from '../../src/contract/generated.js';
import { at, contract, resolve } from '../support/contract.ts';
import { sources } from '../support/sources.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

interface Operation {
  readonly method: string;
  readonly template: string;
  readonly pointer: string;
  readonly operationId: string;
}

const declared: Operation[] = Object.entries(contract.paths).flatMap(([template, item]) =>
  METHODS.filter((method) => method in item).map((method) => {
    const pointer = `/paths/${template.replaceAll('/', '~1')}/${method}`;
    const { operationId } = at(pointer) as { operationId: string };
    return { method: method.toUpperCase(), template, pointer, operationId };
  }),
);

test('operations: only endpoint.ts makes routes', () => {
  const makers = sources.filter(({ lines }) =>
    lines.some((line) => /^\s*accepts,|\baccepts: (?!BodyFormats)/.test(line)),
  );
  assert.deepEqual(
    makers.map(({ path }) => path),
    ['contract/endpoint.ts'],
  );
});

test('operations: a route that the contract lacks is an error', () => {
  for (const [method, path] of [
    ['GET', '/nothing'],
    ['DELETE', '/notes'],
  ] as const)
    assert.throws(
      () => endpoint(method, path, () => ({ status: 200 })),
      new RegExp(`the contract has no ${method} ${path}`),
    );
});

test('operations: only those that read texts accept them', () => {
  const accepted = (...read: (() => object)[]) =>
    endpoint('POST', '/notes', () => ({ status: 200 }), ...read).accepts?.types ?? [];
  assert.ok(accepted(() => ({})).includes('text/plain'));
  assert.deepEqual(accepted(), ['application/json', 'application/x-ndjson']);
});

test('operations: compiled as declared', () => {
  assert.deepEqual(
    operations.map(({ id, method, template }) => [id, method, template]).sort(),
    declared.map(({ operationId, method, template }) => [operationId, method, template]).sort(),
  );
  for (const { id, body } of operations) {
    const { pointer = '' } = declared.find(({ operationId }) => operationId === id) ?? {};
    assert.equal(body !== undefined, 'requestBody' in Object(at(pointer)), id);
  }
});

test('operations: ids are unique', () => {
  const ids = declared.map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[a-z]+[A-Z][A-Za-z]*$/);
});

test('operations: links name an operation and its parameters', () => {
  let links = 0;
  for (const { pointer } of declared) {
    const { responses } = at(pointer) as { responses: Record<string, object> };
    for (const status of Object.keys(responses)) {
      const response = at(resolve(`${pointer}/responses/${status}`) ?? '') as {
        links?: Record<string, Link>;
      };
      for (const [name, { operationId, parameters }] of Object.entries(response.links ?? {})) {
        const target = operations.find(({ id }) => id === operationId);
        const inPath = target?.parameters
          .filter((parameter) => parameter.in === 'path')
          .map((each) => each.name);
        assert.deepEqual(Object.keys(parameters).sort(), inPath?.sort(), name);
        links += 1;
      }
    }
  }
  assert.ok(links > 5);
});

interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}
