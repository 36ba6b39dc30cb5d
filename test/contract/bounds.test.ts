// Bounds are written once, in the contract; and the contract says of them what the specification says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../src/contract/generated.js';
import { at, contract, resolve } from '../support/contract.ts';
import { codeOf, sources } from '../support/sources.ts';

type Schema = Readonly<Record<string, unknown>>;

const LARGEST = Number.MAX_SAFE_INTEGER;
const TEXT = { minLength: 1, pattern: '\\S', format: 'well-formed' };
const LIMIT = { minimum: 1, maximum: 100, default: 20 };
const OFFSET = { minimum: 0, maximum: LARGEST, default: 0 };

/** What the specification (sections 4.6 and 8) and the decisions on its open points ask of each operation's input. */
const DEMANDED: Record<string, Record<string, Schema>> = {
  createNote: { title: { ...TEXT, maxLength: 500 }, body: { ...TEXT, maxLength: 100_000 } },
  replaceNote: { title: { ...TEXT, maxLength: 500 }, body: { ...TEXT, maxLength: 100_000 } },
  createTag: { name: { ...TEXT, maxLength: 200 } },
  replaceTag: { name: { ...TEXT, maxLength: 200 } },
  createComment: { body: { ...TEXT, maxLength: 10_000 } },
  replaceComment: { body: { ...TEXT, maxLength: 10_000 } },
  listNotes: { limit: LIMIT, offset: OFFSET },
  listTags: { limit: LIMIT, offset: OFFSET },
  listComments: { limit: LIMIT, offset: OFFSET },
  getLivez: { verbose: { enum: ['', '1', 'true'] } },
  getReadyz: { verbose: { enum: ['', '1', 'true'] } },
  runCounter: { workers: { minimum: 1, maximum: 16 }, count: { minimum: 1, maximum: 1_000 } },
  runSemaphore: {
    task_ids: { maxItems: 50 },
    'task_ids/items': { minimum: -LARGEST, maximum: LARGEST },
    concurrency_limit: { minimum: 1, maximum: 8 },
  },
  runEvent: { payload: { maxLength: 500, format: 'well-formed' } },
  runPool: {
    items: { maxItems: 50 },
    'items/items': { format: 'well-formed' },
    max_workers: { minimum: 1, maximum: 8, default: 4 },
  },
  runProducerConsumer: {
    items: { maxItems: 50 },
    'items/items': { format: 'well-formed' },
    num_consumers: { minimum: 1, maximum: 8, default: 2 },
    queue_size: { minimum: 1, maximum: 50, default: 10 },
  },
  runThreadLocal: {
    items: {},
    'items/items': { format: 'well-formed' },
    context_key: { minLength: 1, maxLength: 100, format: 'well-formed' },
  },
};

const RULES = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'minItems',
  'pattern',
  'format',
  'default',
  'enum',
];

/** The rules of a schema, with those that stand where its reference leads. */
function rulesAt(pointer: string): Schema {
  const all = { ...(at(resolve(pointer) ?? '') as Schema), ...(at(pointer) as Schema) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => RULES.includes(name)));
}

/** The rules of everything that an operation of the contract is sent, ids in its path excepted. */
function inputOf({ method, template }: (typeof operations)[number]): Record<string, Schema> {
  const path = `/paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}`;
  const found: Record<string, Schema> = {};
  for (const index of ((at(`${path}/parameters`) ?? []) as object[]).keys()) {
    const parameter = resolve(`${path}/parameters/${index}`) ?? '';
    found[(at(parameter) as { name: string }).name] = rulesAt(`${parameter}/schema`);
  }
  const body = resolve(`${path}/requestBody`);
  const schema = body && resolve(`${body}/content/application~1json/schema`);
  for (const name of Object.keys((schema && (at(schema) as { properties: object }).properties) ?? {})) {
    const member = `${schema}/properties/${name}`;
    found[name] = rulesAt(member);
    const items = `${resolve(member)}/items`;
    if (at(items)) found[`${name}/items`] = rulesAt(items);
  }
  return found;
}

test('the contract bounds what each operation is sent as the specification asks', () => {
  const declared = operations.map((operation) => [operation.id, inputOf(operation)] as const);
  assert.deepEqual(Object.fromEntries(declared.filter(([, input]) => Object.keys(input).length > 0)), DEMANDED);
});

/** Lines of src/ that hold the number of a bound and mean something else. */
const ALLOWED = [
  { path: 'app.ts', text: 'Math.round(milliseconds * 1_000) / 1_000', why: 'rounds to microseconds' },
  { path: 'commands/progress.ts', text: 'STEPS = 10', why: 'lines' },
  { path: 'commands/progress.ts', text: '/ 1_000', why: 'seconds' },
  { path: 'commands/progress.ts', text: 'part * 100', why: 'per cent' },
  { path: 'concurrency/crew.ts', text: 'standbys: 16', why: 'threads held ready' },
  { path: 'concurrency/event.ts', text: 'size: 2', why: 'a producer and a consumer' },
  { path: 'concurrency/pool.ts', text: 'TASKS_MOST = 100', why: 'the bound of the pool itself, below the contract' },
  { path: 'concurrency/semaphore.ts', text: 'THREADS_PER_PERMIT = 2', why: 'threads, not permits' },
  { path: 'concurrency/semaphore.ts', text: 'RUNNING = 2', why: 'a cell' },
  { path: 'concurrency/semaphore.ts', text: 'FINISHED = 4', why: 'a cell' },
  { path: 'concurrency/sync.ts', text: 'CONTENDED = 2', why: 'a state' },
  { path: 'concurrency/sync.ts', text: 'SEMAPHORE_CELLS = 2', why: 'cells' },
  { path: 'concurrency/sync.ts', text: 'GENERATION = 2', why: 'a cell' },
  { path: 'concurrency/sync.ts', text: 'QUEUE_LOCK = 2', why: 'a cell' },
  { path: 'concurrency/thread.ts', text: 'DISMISSED = 2', why: 'a state' },
  { path: 'concurrency/sync.ts', text: 'SPINS = 100', why: 'how often a lock is looked at' },
  { path: 'concurrency/tasks.ts', text: 'REHEARSED_COUNT = 1_000', why: 'rounds' },
  { path: 'concurrency/thread-local.ts', text: 'THREADS_MOST = 8', why: 'threads for a list without a bound' },
  { path: 'contract/endpoint.ts', text: 'ERRORS_SHOWN = 20', why: 'how long the list of violations gets' },
  { path: 'contract/violations.ts', text: 'MEMBERS_LISTED = 100', why: 'how far a refused array is looked through' },
  { path: 'guards/client-address.ts', text: 'const GROUPS = 8', why: 'the parts of an IPv6 address' },
  { path: 'guards/client-address.ts', text: 'NETWORK_GROUPS = 4', why: 'those of a network' },
  { path: 'guards/guard.ts', text: 'WRONG_KEYS_MOST = 10', why: 'guesses a minute' },
  { path: 'guards/rate-limit.ts', text: 'WINDOW_S * 1_000', why: 'milliseconds' },
  { path: 'guards/rate-limit.ts', text: 'ms / 1_000', why: 'seconds' },
  { path: 'http/json.ts', text: 'MAX_NESTING_LEVELS = 1_000', why: 'what the parser takes, before any schema' },
  { path: 'storage/batcher.ts', text: 'waitBatches: 2', why: 'batches' },
  { path: 'storage/rqlite-cluster.ts', text: '!== 200', why: 'a status' },
  { path: 'http/server.ts', text: 'headerCount: 100', why: 'header lines' },
  { path: 'http/server.ts', text: 'connections: 10_000', why: 'sockets' },
  { path: 'log.ts', text: 'STANDARD_ERROR = 2', why: 'a file descriptor' },
  { path: 'main.ts', text: 'EXIT_USAGE = 2', why: 'an exit status' },
  { path: 'metrics/process.ts', text: 'percentile(50)', why: 'per cent' },
  { path: 'options.ts', text: 'MAX_THREADS_LEAST = 16', why: 'the least the option takes' },
  { path: 'storage/pages.ts', text: 'LANES = 2', why: 'connections that read' },
  { path: 'storage/pages.ts', text: 'pages: 16', why: 'pages in a batch' },
  { path: 'storage/pages.ts', text: '2 ** Math.ceil', why: 'powers of two' },
  { path: 'storage/id-pages.ts', text: '2 ** 52', why: 'half of the numbers that JSON can carry' },
  { path: 'storage/migrations.ts', text: 'BLOCK_BITS = 10', why: 'the layout of the stored counts' },
  { path: 'storage/sqlite.ts', text: 'READERS = 2', why: 'connections to the file' },
] as const;

/** From here on a number is looked for wherever it stands; a smaller one only where it is named or compared. */
const CONSPICUOUS = 20;

function boundsOfInput(): Set<number> {
  const rules = Object.values(DEMANDED).flatMap((input) => Object.values(input).flatMap(Object.values));
  return new Set(rules.filter((rule) => typeof rule === 'number' && Math.abs(rule) > 1).map(Math.abs));
}

/** The numbers in a line of code that could be bounds: no times, sizes in bytes and HTTP statuses. */
function numbersIn(line: string): number[] {
  const code = codeOf(line)
    .replace(/\w*(?:_MS|_BYTES|Ms|Bytes)\b\s*[=:]\s*[\d_]+/g, '')
    .replace(/\b(?:status\b[^,\d]*|\w+Reply\([^,\d]*)\d+/g, '');
  const numbers = code.matchAll(
    /((?<![<>-])[<>]=?|(?<![=!<>+-])=|\?\?|:)?\s*(?<![\w.$]|[a-z]-)(\d[\d_]*)(?![\w.]|-[a-z])/g,
  );
  return [...numbers]
    .map(([, sign, digits = '']) => ({ sign, number: Number(digits.replaceAll('_', '')) }))
    .filter(({ sign, number }) => number >= CONSPICUOUS || sign !== undefined)
    .map(({ number }) => number);
}

test('the search for bounds finds them however they are written', () => {
  const lines = ['if (limit > 100) {', 'const MOST = 1_00;', 'text.length <= 500', '"at most 50 items"', 'limit ?? 20'];
  for (const line of [...lines, '{ maxWorkers: 8 }', 'const WORKERS = 16;']) {
    assert.ok(
      numbersIn(line).some((number) => boundsOfInput().has(number)),
      line,
    );
  }
  for (const line of [
    "'utf-8'",
    'id >> 10',
    '// 100',
    ' * 50 items',
    'status: 200,',
    'const WAIT_MS = 500;',
    'x % 2',
  ]) {
    assert.deepEqual(numbersIn(line), [], line);
  }
});

test('no bound of the contract stands a second time in src/', () => {
  const bounds = boundsOfInput();
  const used = new Set<(typeof ALLOWED)[number]>();
  for (const { path, lines } of sources) {
    for (const line of lines) {
      const found = numbersIn(line).filter((number) => bounds.has(number));
      if (found.length === 0) continue;
      const allowed = ALLOWED.find((each) => each.path === path && line.includes(each.text));
      assert.ok(allowed, `src/${path} writes ${found}, which the contract bounds: ${line.trim()}`);
      used.add(allowed);
    }
  }
  const stale = ALLOWED.filter((each) => !used.has(each));
  assert.deepEqual(stale, []);
});

/** The members of a schema that are schemas themselves; any other that could be one has to be thought of here. */
function partsOf(schema: Schema): Schema[] {
  const { properties = {}, items, oneOf = [] } = schema;
  for (const name of ['allOf', 'anyOf', 'not', 'if', 'prefixItems', 'contains', 'patternProperties', '$defs']) {
    assert.ok(!(name in schema), `${name} is not looked into`);
  }
  return [...Object.values(properties as object), ...(items ? [items] : []), ...(oneOf as Schema[])];
}

/** All schemas of the contract, and those inside them. */
function* schemas(found: readonly Schema[] = topSchemas(contract)): Generator<Schema> {
  for (const schema of found) {
    yield schema;
    yield* schemas(partsOf(schema));
  }
}

function topSchemas(place: unknown): Schema[] {
  if (typeof place !== 'object' || place === null) return [];
  return Object.entries(place).flatMap(([name, member]) => {
    if (name === 'schemas') return Object.values(member as object);
    return name === 'schema' ? [member as Schema] : topSchemas(member);
  });
}

test('the contract has no schema that takes floats or null, on which the JSON reader relies', () => {
  const known = new Set(['string', 'integer', 'boolean', 'object', 'array']);
  let count = 0;
  for (const schema of schemas()) {
    count += 1;
    const text = JSON.stringify(schema);
    // A schema that does not name its type takes null as well.
    assert.ok('$ref' in schema || 'oneOf' in schema || known.has(String(schema.type)), text);
    assert.ok(!('nullable' in schema) && schema.const !== null, text);
    assert.ok(!((schema.enum ?? []) as unknown[]).includes(null), text);
  }
  assert.ok(count > 100);
});

test('a float that the JSON reader has made null is refused in every member of every body', () => {
  for (const { id, body } of operations) {
    if (!body) continue;
    const input = inputOf(operations.find((each) => each.id === id) ?? assert.fail());
    for (const place of Object.keys(input)) {
      const [name = '', inside] = place.split('/');
      body.all({ [name]: inside ? [null] : null });
      const refused = body.all.errors?.some(({ instancePath, keyword }) => {
        return instancePath === (inside ? `/${name}/0` : `/${name}`) && keyword === 'type';
      });
      assert.ok(refused, `${id} ${place}`);
    }
  }
});
