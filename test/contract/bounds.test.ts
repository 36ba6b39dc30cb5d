// The bounds that the contract sets, and what the JSON reader relies on in its schemas.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../src/contract/generated.js';
import { parseJson } from '../../src/http/body/json.ts';
import { DISPATCH_LIMITS } from '../../src/http/limits.ts';
import { MAX_KEY } from '../../src/lists/request.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { MAX_LARGE_PAGE_BYTES } from '../../src/storage/database.ts';
import { at, IGNORED, resolve } from '../support/contract.ts';

type Schema = Readonly<Record<string, unknown>>;

const LARGEST = Number.MAX_SAFE_INTEGER;
const TEXT = { minLength: 1, pattern: '^\\s*\\S', format: 'well-formed' };
const LIMIT = { minimum: 1, maximum: 100, default: 20 };
const OFFSET = { format: 'int64', minimum: 0, maximum: LARGEST, default: 0 };

const TAG_NAME = { ...TEXT, maxLength: 200 };

const NOTE = {
  title: { ...TEXT, maxLength: 500 },
  body: { ...TEXT, maxLength: 100_000 },
  tag_ids: { maxItems: 100, uniqueItems: true },
  'tag_ids/items': { format: 'int64', minimum: 1, maximum: LARGEST },
  tags: { maxItems: 100, uniqueItems: true },
  'tags/items': TAG_NAME,
};
const KEY = { format: 'int64', minimum: 0, maximum: MAX_KEY };
const ORDERS = ['id', '-id', 'updated', '-updated'];
const TIME = { format: 'date-time' };
const TIMES = {
  ...{ created_after: TIME, created_before: TIME },
  ...{ updated_after: TIME, updated_before: TIME },
};
const LIST = { limit: LIMIT, offset: OFFSET, after: KEY, before: KEY, ...TIMES };
const ORDERED_LIST = { ...LIST, order: { enum: ORDERS, default: 'id' } };

const TAG = { name: TAG_NAME };
const COMMENT = { body: { ...TEXT, maxLength: 10_000 } };

const NOTE_LIST = {
  ...LIST,
  tag_id: { maxItems: 10 },
  'tag_id/items': { format: 'int64', minimum: 1, maximum: LARGEST },
  tag: { maxItems: 10 },
  'tag/items': TAG_NAME,
  untagged: { enum: ['true', 'false'] },
  q: { minLength: 1, maxLength: 500 },
};
const TAG_LIST = { ...ORDERED_LIST, ...TAG };

/** The bounds that clients rely on, by operation. What is added has its own. */
const DEMANDED: Record<string, Record<string, Schema>> = {
  createNote: NOTE,
  replaceNote: NOTE,
  patchNote: NOTE,
  createTag: TAG,
  replaceTag: TAG,
  patchTag: TAG,
  createComment: COMMENT,
  replaceComment: COMMENT,
  patchComment: COMMENT,
  listNotes: NOTE_LIST,
  listNotesOfTag: NOTE_LIST,
  listTags: TAG_LIST,
  listTagsOfNote: TAG_LIST,
  listChanges: {
    limit: { minimum: 1, maximum: 1_000, default: 100 },
    wait: { minimum: 0, maximum: 30, default: 0 },
    type: { maxItems: 11 },
    include: { maxItems: 7 },
  },
  listComments: ORDERED_LIST,
  getLivez: { verbose: { pattern: '^(?:1|true)?$' } },
  getReadyz: { verbose: { pattern: '^(?:1|true)?$' } },
  runCounter: { workers: { minimum: 1, maximum: 16 }, count: { minimum: 1, maximum: 1_000 } },
  runSemaphore: {
    task_ids: { maxItems: 50 },
    'task_ids/items': { format: 'int64', minimum: -LARGEST, maximum: LARGEST },
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
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'maxItems', 'minItems', 'uniqueItems'],
  ...['pattern', 'format', 'default', 'enum'],
];

/** The rules of a schema, with those of the schema that it refers to. */
function rulesAt(pointer: string): Schema {
  const all = { ...(at(resolve(pointer) ?? '') as Schema), ...(at(pointer) as Schema) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => RULES.includes(name)));
}

function inputOf({ method, template }: (typeof operations)[number]): Record<string, Schema> {
  const path = `/paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}`;
  const found: Record<string, Schema> = {};
  for (const index of ((at(`${path}/parameters`) ?? []) as object[]).keys()) {
    const parameter = resolve(`${path}/parameters/${index}`) ?? '';
    const { name, in: place } = at(parameter) as { name: string; in: string };
    if (place === 'query') addRules(found, name, `${parameter}/schema`);
  }
  const body = resolve(`${path}/requestBody`);
  const schema = body && resolve(`${body}/content/application~1json/schema`);
  const { properties = {} } = (at(schema ?? '/') as { properties?: object }) ?? {};
  for (const name of Object.keys(properties)) {
    const member = `${schema}/properties/${name}`;
    if (resolve(member) !== IGNORED) addRules(found, name, member);
  }
  return found;
}

/** Adds the rules of the schema at `pointer` and, for an array, those of its items. */
function addRules(found: Record<string, Schema>, name: string, pointer: string): void {
  found[name] = rulesAt(pointer);
  const items = `${resolve(pointer)}/items`;
  if (at(items)) found[`${name}/items`] = rulesAt(items);
}

test('bounds: the input of every operation', () => {
  for (const [id, demanded] of Object.entries(DEMANDED)) {
    const input = inputOf(operations.find((each) => each.id === id) ?? assert.fail(id));
    for (const [name, rules] of Object.entries(demanded))
      assert.deepEqual(input[name], rules, `${id}: ${name}`);
  }
});

test('bounds: a pattern is that of texts that are not blank, or described', () => {
  for (const operation of operations)
    for (const [name, { pattern }] of Object.entries(inputOf(operation))) {
      const { rule = '' } = operation.parameters.find((each) => each.name === name) ?? {};
      const ofName = String(rulesAt('/components/parameters/NoteName/schema').pattern);
      const isName = pattern === ofName || pattern === ofName.replace(/\$$/, '/?$');
      const isKnown = !pattern || pattern === TEXT.pattern || isName;
      assert.ok(isKnown || /^an? [\w "]+$/.test(rule), name);
    }
});

test('bounds: lines of records and idempotency keys', () => {
  const pattern = '^(?:[A-Za-z0-9._~:+/=-]{1,128}|"[A-Za-z0-9._~:+/=-]{1,128}")$';
  assert.deepEqual(rulesAt('/components/parameters/IdempotencyKey/schema'), { pattern });
  const creations = operations.filter(({ body }) => body?.lines);
  const labels = RESOURCES.map(({ label }) => label);
  assert.deepEqual(
    creations.map(({ id }) => id).sort(),
    labels.map((label) => `create${label}`).sort(),
  );
  for (const label of labels)
    assert.deepEqual(rulesAt(`/components/schemas/${label}Lines`), { minItems: 1, maxItems: 500 });
});

test('bounds: an integer that is written as a float is refused in every member', () => {
  const float = parseJson(Buffer.from('4.0'));
  for (const operation of operations) {
    const { id, body } = operation;
    if (!body) continue;
    for (const place of Object.keys(inputOf(operation))) {
      const [name = '', inside] = place.split('/');
      body.validateFully({ [name]: inside ? [float] : float });
      const refused = body.validateFully.errors?.some(({ instancePath, keyword }) => {
        return instancePath === (inside ? `/${name}/0` : `/${name}`) && keyword === 'type';
      });
      assert.ok(refused, `${id} ${place}`);
    }
  }
});

test('bounds: the largest page fits the memory that is reserved for it', () => {
  const { title, body } = NOTE;
  // Six bytes for a control character, and the rest of a note.
  const noteBytes = 6 * (title.maxLength + body.maxLength) + 4_096;
  // Two copies are in memory at a time.
  assert.ok(2 * LIMIT.maximum * noteBytes < DISPATCH_LIMITS.largePageBytes);
  assert.ok(DISPATCH_LIMITS.largePageBytes < DISPATCH_LIMITS.repliesBytes);
  const tagsBytes = NOTE.tags.maxItems * (6 * TAG_NAME.maxLength + 24);
  // A cluster may send it in base64, which takes a third more.
  assert.ok((4 / 3) * LIMIT.maximum * (noteBytes + tagsBytes) < MAX_LARGE_PAGE_BYTES);
});
