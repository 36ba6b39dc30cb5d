// The tools for assistants are made of operations of the contract, and all clients can read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOOL_HELP, tools } from '../../src/assistants/generated.js';
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
  readonly remedies?: object;
}

interface Item {
  readonly operationId: string;
  readonly 'x-tool'?: Declared | readonly Declared[];
}

/** The keywords that clients and their models understand. */
const KEYWORDS = [
  ...['type', 'enum', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'items'],
  ...['minItems', 'maxItems', 'uniqueItems', 'default', 'description'],
];

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
  const unknown = declared.flatMap(({ listing, arguments: taken, requests }) => {
    const ids = requests.map(({ operation }) => operation);
    const used = operations.filter(({ id }) => ids.includes(id));
    const inputs = used.flatMap(({ parameters, headers, body }) => [
      ...[...parameters, ...headers].map(({ name }) => name),
      ...(body?.members ?? []),
    ]);
    const fixed = requests.flatMap(({ query }) => [...new URLSearchParams(query).keys()]);
    const named = Object.entries(taken)
      .filter(([, { to }]) => to !== 'offset')
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
  const places = new Set(['path', 'query', 'header', 'body', 'offset']);
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
  assert.ok(text.length < 12_288, `${text.length} bytes`);
  for (const { listing } of tools) {
    const { name, title, description, inputSchema, annotations, ...others } = Object(listing);
    assert.deepEqual(others, {});
    assert.match(name, /^[a-z_]{1,24}$/);
    assert.ok(title.length > 0 && title.length <= 40, name);
    assert.ok([...description].length <= 300 && description.endsWith('.'), name);
    assert.equal(annotations.openWorldHint, false, name);
    assert.equal('destructiveHint' in annotations, !annotations.readOnlyHint, name);
    const { properties, required, ...root } = inputSchema;
    assert.deepEqual(root, { type: 'object', additionalProperties: false }, name);
    for (const [argument, schema] of Object.entries<object>(properties)) {
      const { type, description: what, items } = Object(schema);
      assert.ok(what.endsWith('.'), `${name} ${argument}`);
      assert.equal(items !== undefined, type === 'array', `${name} ${argument}`);
      for (const keyword of [...Object.keys(schema), ...Object.keys(items ?? {})])
        assert.ok(KEYWORDS.includes(keyword), `${name} ${argument} has ${keyword}`);
      assert.equal(typeof type, 'string', `${name} ${argument}`);
    }
  }
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
  for (const [name] of named) assert.ok(names.includes(name), name);
  const cut = TOOL_HELP.characters.toLocaleString('en');
  assert.ok(JSON.stringify(tools).includes(`after ${cut} characters`));
});
