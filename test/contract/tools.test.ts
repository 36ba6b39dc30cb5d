// The tools for assistants are made of operations of the contract, and all clients can read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOOL_HELP, tools } from '../../src/assistants/generated.js';
import { toolsOf } from '../../src/build/tools.ts';
import { operations } from '../../src/contract/generated.js';
import { at, contract } from '../support/contract.ts';

interface Declared {
  readonly position: number;
  readonly listing: { readonly name: string };
  readonly arguments: Readonly<Record<string, { readonly as?: string; readonly to: string }>>;
  readonly required?: readonly string[];
  readonly requests: readonly {
    readonly operation: string;
    readonly query?: string;
    readonly when?: string;
    readonly ifMissing?: object;
  }[];
  readonly find?: string;
  readonly remedies?: object;
}

interface Item {
  readonly operationId: string;
  readonly 'x-tool'?: Declared | readonly Declared[];
}

/** The keywords that the interfaces of all models know. */
const KEYWORDS = [
  ...['type', 'title', 'description', 'enum', 'items', 'minItems', 'maxItems', 'properties'],
  ...['required', 'minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'default'],
];

interface Schema extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly unknown[];
}

/** Asserts that a schema of any depth has only what the interfaces of all models know. */
function assertKnown(schema: Schema, label: string): void {
  for (const keyword of Object.keys(schema))
    assert.ok(KEYWORDS.includes(keyword), `${label} has ${keyword}`);
  assert.equal(typeof schema.type, 'string', label);
  assert.equal(schema.items !== undefined, schema.type === 'array', label);
  for (const each of schema.enum ?? []) assert.equal(typeof each, 'string', label);
  if (schema.items) assertKnown(schema.items, `${label} items`);
  for (const [name, each] of Object.entries(schema.properties ?? {}))
    assertKnown(each, `${label} ${name}`);
}

const declared = Object.values(contract.paths).flatMap((item) =>
  Object.values(item as Record<string, Item>).flatMap((each) =>
    [each['x-tool'] ?? []].flat().map((tool) => ({ ...tool, at: each.operationId })),
  ),
);

test('tools: in the order in which the contract names them', () => {
  const { description } = at('/paths/~1mcp/post') as { readonly description: string };
  const named = [...description.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, name]) => name);
  assert.deepEqual(
    named,
    tools.map(({ listing }) => listing.name),
  );
});

test('tools: what each sends is what its operations have', () => {
  const unknown = declared.flatMap(({ listing, arguments: taken, requests, find }) => {
    const ids = requests.map(({ operation }) => operation);
    const used = operations.filter(({ id }) => ids.includes(id));
    const inputs = used.flatMap(({ parameters, headers, body }) => [
      ...[...parameters, ...headers].map(({ name }) => name),
      ...(body?.members ?? []),
    ]);
    const fixed = requests.flatMap(({ query }) => [...new URLSearchParams(query).keys()]);
    const named = Object.entries(taken)
      .filter(([name, { to }]) => to !== 'flag' && !(find && name === 'name'))
      .map(([name, { as = name }]) => as);
    const sent = [...named, ...fixed].filter((name) => !inputs.includes(name));
    return sent.map((name) => `${listing.name}: ${name}`);
  });
  assert.deepEqual(unknown, []);
});

test('tools: each stands at an operation that it requests, and requires what that requires', () => {
  for (const { listing, at: id, arguments: taken, required = [], requests } of declared) {
    const { name } = listing;
    assert.ok(
      requests.some(({ operation }) => operation === id),
      name,
    );
    const tool = tools.find((each) => each.listing.name === name);
    assert.ok(
      required.every((each) => Object.hasOwn(taken, each)),
      name,
    );
    for (const { method, template } of tool?.requests ?? []) {
      const operation = operations.find(
        (each) => each.method === method && each.template === template,
      );
      operation?.body?.validateFully({});
      const missing = operation?.body?.validate.errors ?? [];
      for (const { params, keyword } of missing)
        if (keyword === 'required' && requests.length === 1)
          assert.ok(required.includes(`${params.missingProperty}`), name);
      assert.equal(tool?.listing.annotations.readOnlyHint, method === 'GET', name);
    }
    assert.equal(tool?.requests.at(-1)?.when, undefined, name);
  }
});

test('tools: no declaration has a name that stands for nothing', () => {
  const places = new Set(['path', 'query', 'header', 'body', 'flag']);
  const common = Object.keys(Object(at('/components/x-tools/remedies')));
  for (const { listing, arguments: taken, requests, remedies = {} } of declared) {
    const names = Object.keys(taken);
    for (const { to } of Object.values(taken)) assert.ok(places.has(to), `${listing.name}: ${to}`);
    const used = requests.flatMap(({ when = [], ifMissing = {} }) => [
      ...[when].flat(),
      ...Object.keys(ifMissing),
    ]);
    for (const name of used) assert.ok(names.includes(name), `${listing.name}: ${name}`);
    for (const name of Object.keys(remedies))
      assert.ok([...names, ...common].includes(name), `${listing.name}: ${name}`);
  }
  const positions = declared.map(({ position }) => position);
  assert.equal(new Set(positions).size, positions.length, 'two tools have the same position');
});

test('tools: all clients can read the list', () => {
  const text = JSON.stringify(tools.map(({ listing }) => listing));
  assert.ok(text.length < 14_336, `${text.length} bytes`);
  for (const { listing } of tools) {
    const { name, title, description, inputSchema, annotations, ...others } = Object(listing);
    assert.deepEqual(others, {});
    assert.match(name, /^[a-z_]{1,24}$/);
    assert.ok(title.length > 0 && title.length <= 40, name);
    assert.ok([...description].length <= 300 && description.endsWith('.'), name);
    assert.equal(annotations.openWorldHint, false, name);
    assert.equal('destructiveHint' in annotations, !annotations.readOnlyHint, name);
    const { properties, required, ...root } = inputSchema;
    assert.deepEqual(root, { type: 'object' }, name);
    assertKnown(inputSchema, name);
    for (const [argument, { description: what }] of Object.entries<Schema>(properties))
      assert.ok(`${what}`.endsWith('.'), `${name} ${argument}`);
  }
});

test('tools: a new argument has no keyword that some models do not know', () => {
  const text = { type: 'string', format: 'email', const: 'a', examples: ['a'], 'x-own': 1 };
  const schema = {
    ...{ type: ['array', 'null'], items: { ...text, minLength: 1 }, uniqueItems: true },
    ...{ description: 'Some.', contains: text, deprecated: true, maxItems: 3 },
  };
  const number = { type: 'number', exclusiveMinimum: 1, multipleOf: 2, maximum: 9, oneOf: [] };
  const found = toolsOf(
    {
      '/a': {
        get: {
          operationId: 'a',
          'x-tool': {
            ...{ position: 1, listing: { name: 'a' }, requests: [{ operation: 'a' }] },
            arguments: { list: { to: 'query', schema }, number: { to: 'query', schema: number } },
          },
        },
      },
    },
    { remedies: {}, arguments: {} },
    (each) => each,
    () => '',
  );
  const [{ listing }] = found as unknown as [{ listing: { inputSchema: Schema } }];
  assertKnown(listing.inputSchema, 'a');
  const items = { type: 'string', minLength: 1 };
  assert.deepEqual(JSON.parse(JSON.stringify(listing.inputSchema.properties)), {
    list: { type: 'array', description: 'Some.', maxItems: 3, items },
    number: { type: 'number', maximum: 9 },
  });
});

test('tools: the texts for models are short and name what there is', () => {
  assert.ok(TOOL_HELP.instructions.length <= 500);
  const names = tools.map(({ listing }) => listing.name);
  const texts = tools.flatMap(({ listing, remedies }) => [
    JSON.stringify(listing),
    ...Object.values(remedies),
  ]);
  const named = [TOOL_HELP.instructions, ...texts].flatMap((text) => [
    ...text.matchAll(/\b(?:\w+_notes?|\w+_tags|\w+_changes)\b/g),
  ]);
  const known = [...names, ...tools.flatMap((tool) => tool.arguments.map(({ name }) => name))];
  for (const [name] of named) assert.ok(known.includes(name), name);
});
