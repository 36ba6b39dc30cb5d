// Each tool beside the request that it stands for, on two services with the same notes: both do the
// same, refuse the same, and say the same. The tools, their requests and their bounds are read from
// the contract, so that a new tool is tested by its entry there.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { callTool, legacy, withKeys } from '../../support/assistants.ts';
import { contract } from '../../support/contract.ts';
import type { Answer } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';

type Args = Readonly<Record<string, unknown>>;

type Bound = 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems';

interface Schema extends Readonly<Partial<Record<Bound, number>>> {
  readonly type: string;
  readonly pattern?: string;
  readonly items?: Schema;
}

interface ToolRequest {
  readonly when?: string;
  readonly operation: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Arguments with which another request tells more of what is missing. */
  readonly ifMissing?: object;
}

interface Tool {
  readonly position: number;
  readonly listing: { readonly name: string };
  readonly arguments: Readonly<Record<string, { readonly to: string; readonly as?: string }>>;
  readonly requests: readonly ToolRequest[];
  /** What finds the note by its name, if its requests need its id. */
  readonly find?: string;
}

type Operation = Readonly<{ operationId: string; 'x-tool'?: Tool | readonly Tool[] }>;

const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>).map(([method, operation]) => {
    return { path, method: method.toUpperCase(), ...operation };
  }),
);
const tools = operations
  .flatMap((operation) => operation['x-tool'] ?? [])
  .sort((a, b) => a.position - b.position);

const WRITER = { authorization: 'Bearer a-key-for-writing' };
const READER = { authorization: 'Bearer a-key-for-reading' };
const KEYED = withKeys({ after }, 'a-key-for-writing', 'a-key-for-reading access=read');

/** Values that are accepted, by the names of arguments. */
async function samplesOf({ request }: Service, { path }: Variant): Promise<Args> {
  const note = path.startsWith('/named') ? '/named/Einkauf/K%C3%BCche.md' : '/notes/1';
  const { headers } = await request('GET', note, { headers: WRITER });
  const { json } = await request('GET', '/changes', { headers: WRITER });
  const versions = await request('GET', '/notes/1/versions', { headers: WRITER });
  return {
    id: 1,
    name: path === '/notes' ? 'Einkauf/new' : 'Einkauf/Küche.md',
    folder: 'Einkauf',
    not_tags: ['nothing'],
    add: ['new'],
    remove: ['errands'],
    query: path === '/trash' ? 'BREA' : 'milk',
    tags: ['errands'],
    limit: 100,
    offset: 0,
    after: 0,
    create: true,
    untagged: false,
    order: '-created',
    created_after: '2020-01-01T00:00:00Z',
    created_before: '2999-01-01T00:00:00+09:00',
    updated_after: '2020-01-01T00:00:00Z',
    updated_before: '2999-01-01T00:00:00Z',
    retry_key: 'a-key',
    title: 'Changed',
    body: 'Changed \u{1f44b}',
    text: 'Bread',
    old_text: 'Milk',
    new_text: 'Oat milk',
    etag: String(headers.etag).replaceAll('"', ''),
    since: json.next,
    version: versions.json.items[0].version,
  };
}

async function seeded(): Promise<Service> {
  const service = await startService({ after }, KEYED);
  for (const title of ['Milk', 'Bread'])
    await service.request('POST', '/notes', {
      json: { title, body: `Milk, then ${title.length}`, tags: ['errands', 'home'] },
      headers: WRITER,
    });
  const json = { title: 'Shopping', body: 'Milk', tags: ['errands'] };
  await service.request('PUT', '/named/Einkauf/K%C3%BCche.md', { json, headers: WRITER });
  await service.request('PATCH', '/notes/1', { json: { title: 'Milk 2' }, headers: WRITER });
  await service.request('DELETE', '/notes/2', { headers: WRITER });
  return service;
}

const listing = await (await seeded()).request('POST', '/mcp', legacy('tools/list', {}, WRITER));
const schemas = new Map<string, { properties: Record<string, Schema>; required?: string[] }>(
  // biome-ignore lint/suspicious/noExplicitAny: the test of the protocol has its shape.
  listing.json.result.tools.map((tool: any) => [tool.name, tool.inputSchema]),
);

/** A tool with one of the requests that it stands for. */
interface Variant {
  readonly tool: Tool;
  readonly request: ToolRequest;
  readonly method: string;
  readonly path: string;
}

function variantsOf(tool: Tool): Variant[] {
  return tool.requests.map((request) => {
    const operation = operations.find(({ operationId }) => operationId === request.operation);
    assert.ok(operation, request.operation);
    return { tool, request, method: operation.method, path: operation.path };
  });
}

function takes({ tool, request, path }: Variant, name: string): boolean {
  const { to, as = name } = tool.arguments[name] ?? {};
  const isOfOther = tool.requests.some((each) => each !== request && each.when === name);
  return to === 'path' ? path.includes(`{${as}}`) : !isOfOther;
}

/** Returns arguments that are accepted. */
async function argumentsOf(variant: Variant, service: Service): Promise<Args> {
  const samples = await samplesOf(service, variant);
  const names = Object.keys(variant.tool.arguments).filter((name) => takes(variant, name));
  for (const name of names) assert.ok(name in samples, `there is no sample of ${name}`);
  const args = Object.fromEntries(names.map((name) => [name, samples[name]]));
  return variant.path.startsWith('/trash') && 'id' in args ? { ...args, id: 2 } : args;
}

/** Sends the request that a call of the tool stands for. */
function sendByHttp(
  { request: send }: Service,
  { tool, request, method, path }: Variant,
  args: Args,
  headers = WRITER,
): Promise<Answer> {
  const query = new URLSearchParams(request.query);
  const sent: Record<string, string> = { ...headers, ...request.headers };
  const json: Record<string, unknown> = {};
  let target = path;
  for (const [name, value] of Object.entries(args)) {
    const { to = 'body', as = name } = tool.arguments[name] ?? {};
    if (to === 'path') target = target.replace(/\{\w+\}/, encodeURIComponent(String(value)));
    if (to === 'query') {
      query.delete(as);
      for (const each of [value].flat()) query.append(as, String(each));
    }
    if (to === 'header') sent[as] = `"${value}"`;
    if (to === 'body') json[as] = value;
  }
  const parts = { headers: sent, ...(method === 'GET' || method === 'DELETE' ? {} : { json }) };
  return send(method, `${target}?${query}`.replace(/\?$/, ''), parts);
}

/** What is stored, without what differs between two databases. */
async function stateOf({ request }: Service): Promise<unknown> {
  const get = async (path: string) => (await request('GET', path, { headers: WRITER })).json;
  const { next } = await get('/changes');
  const { items: changes } = await get(`/changes?since=${next.replace(/\d+$/, '0')}`);
  return {
    notes: (await get('/notes?include=name,tags')).items,
    tags: (await get('/tags?include=notes_count')).items,
    trash: (await get('/trash?fields=id,title,body')).items,
    changes: changes.map(({ type }: Args) => type),
  };
}

/** Values that break one bound of a schema each. */
function violationsOf({ type, items, ...bounds }: Schema): unknown[] {
  const { minimum, maximum, minLength, maxLength, pattern, minItems, maxItems } = bounds;
  const many = Array.from({ length: (maxItems ?? 0) + 1 }, (_, index) => `tag ${index}`);
  return [
    ...(type === 'boolean' ? ['x', 5] : []),
    ...(type === 'integer' ? ['x', 1.5, '1.5', '1e-1', '1e999', [1]] : []),
    ...(type === 'string' ? [5, '\ud800'] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(minLength ? [''] : []),
    ...(pattern ? ['\n'] : []),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    ...(type === 'array' ? ['x', { a: 1 }] : []),
    ...(minItems ? [[]] : []),
    ...(maxItems === undefined ? [] : [many]),
    ...(items ? violationsOf(items).map((item) => [item]) : []),
  ];
}

/** Asserts that what both answers have is the same, apart from what belongs to one database. */
function assertAgrees(found: unknown, wanted: unknown, label: string): void {
  if (typeof found === 'object' && found !== null) {
    const [names, both] = [Object.keys(found), Object(wanted)];
    if (Array.isArray(found)) assert.equal(found.length, both.length, label);
    for (const name of names.filter((each) => each in both && !/etag|_?at$|next|since/.test(each)))
      assertAgrees(Object(found)[name], both[name], `${label}: ${name}`);
  } else assert.equal(found, Object(wanted).text ?? wanted, label);
}

// Before the first test, because the services would end with the tests that are known by then.
const pairs = await Promise.all(
  tools.map(async (tool) => ({ tool, byHttp: await seeded(), byTool: await seeded() })),
);

test('parity: every tool of the contract is listed, in its order', () => {
  const names = tools.map(({ listing: { name } }) => name);
  assert.deepEqual([...schemas.keys()], names);
  assert.equal(names.length, 14);
});

for (const { tool, byHttp, byTool } of pairs) {
  const { name } = tool.listing;
  const { properties, required = [] } = schemas.get(name) ?? { properties: {} };
  const variants = variantsOf(tool);
  const assertSameState = async () =>
    assert.deepEqual(await stateOf(byTool), await stateOf(byHttp));

  test(`parity: ${name} refuses what its request refuses`, async () => {
    for (const [argument, schema] of Object.entries(properties)) {
      if (tool.find && argument === 'name') continue;
      const variant = variants.find((each) => takes(each, argument));
      assert.ok(variant, argument);
      const valid = await argumentsOf(variant, byTool);
      for (const value of violationsOf(schema)) {
        const label = `${name}: ${argument}: ${JSON.stringify(value).slice(0, 60)}`;
        const args = { ...valid, [argument]: value };
        const { isError, text } = await callTool(byTool, name, args, WRITER);
        assert.ok(isError, label);
        // In a path or a query, all values are texts.
        if (tool.arguments[argument]?.to !== 'body') continue;
        const { status, json } = await sendByHttp(byHttp, variant, args);
        assert.equal(status, 422, label);
        // Null counts as not given.
        for (const { detail } of json.errors)
          assert.ok(text.includes(detail.replace(' or null', '')), `${label}: ${text}`);
      }
    }
    const [variant] = variants;
    assert.ok(variant);
    const valid = await argumentsOf(variant, byTool);
    for (const missing of required) {
      const { [missing]: _, ...args } = valid;
      const { isError, text } = await callTool(byTool, name, args, WRITER);
      assert.ok(isError && text.includes(missing), `${name} without ${missing}: ${text}`);
    }
    const { isError, text } = await callTool(byTool, name, { ...valid, extra: 1 }, WRITER);
    assert.ok(isError && text.includes('extra'), text);
    await assertSameState();
  });

  for (const [what, change, status] of [
    ['a note that is missing', { id: 4_711 }, 404],
    ['a lost race', { etag: 'another-1' }, 412],
  ] as const) {
    const [argument = ''] = Object.keys(change);
    const concerned = variants.filter(
      (each) => argument in tool.arguments && takes(each, argument),
    );
    if (concerned.length === 0) continue;
    test(`parity: ${name} is told of ${what} as its request is`, async () => {
      for (const variant of concerned) {
        const sent = { ...(await argumentsOf(variant, byHttp)), ...change };
        const { status: found, json } = await sendByHttp(byHttp, variant, sent);
        assert.equal(found, status);
        const args = { ...(await argumentsOf(variant, byTool)), ...change };
        const { isError, text } = await callTool(byTool, name, args, WRITER);
        const isSame = text.startsWith(json.detail) || variant.request.ifMissing || status === 412;
        assert.ok(isError && isSame, text);
        assert.match(text, /search_notes|get_note|call again/, 'a remedy');
        assert.doesNotMatch(text, /if-match/);
      }
      await assertSameState();
    });
  }

  test(`parity: a key for reading may call ${name} if it may send its request`, async () => {
    for (const variant of variants) {
      const sent = await argumentsOf(variant, byHttp);
      const { status, json } = await sendByHttp(byHttp, variant, sent, READER);
      const args = await argumentsOf(variant, byTool);
      const { isError, text } = await callTool(byTool, name, args, READER);
      assert.equal(isError, status === 403, text);
      if (isError) assert.ok(text.startsWith(json.detail), text);
      const listed = await byTool.request('POST', '/mcp', legacy('tools/list', {}, READER));
      assert.equal(listed.text.includes(`"name":"${name}"`), !isError);
    }
    await assertSameState();
  });

  test(`parity: ${name} does what its request does`, async () => {
    for (const variant of variants) {
      const sent = await argumentsOf(variant, byHttp);
      const { status, json = {} } = await sendByHttp(byHttp, variant, sent);
      assert.ok(status < 300, JSON.stringify(json));
      // As models do, with numbers and lists as texts.
      const args = Object.entries(await argumentsOf(variant, byTool)).map(([argument, value]) => {
        const text = Number.isInteger(value) ? `${value}.0` : JSON.stringify(value);
        return [argument, typeof value === 'string' ? value : text];
      });
      const called = await callTool(byTool, name, Object.fromEntries(args), WRITER);
      const { isError, text, json: answer } = called;
      assert.ok(!isError, text);
      assertAgrees(answer, json, name);
      // What a model need not read or escape.
      if ('etag' in answer) assert.match(answer.etag, /^[\da-f]{8}-\d+$/);
      assert.equal('body' in answer, name === 'get_note');
      if (name === 'search_notes' && 'when' in variant.request)
        assert.match(answer.items[0].snippet, /Milk/);
      if ('characters' in answer) assert.equal(answer.characters, [...json.body].length);
      await assertSameState();
    }
  });
}

test('parity: next_after leads through a list to its end', async () => {
  const service = await seeded();
  for (const name of ['search_notes', 'list_tags']) {
    const ids: number[] = [];
    let next: number | undefined = 0;
    while (next !== undefined) {
      const { json } = await callTool(service, name, { limit: 1, after: next }, WRITER);
      ids.push(json.items[0].id);
      next = json.next_after;
    }
    assert.deepEqual([ids.length, new Set(ids).size], [2, 2]);
  }
});
