// The recipes of the guide to changing the service, carried out on a copy of the project: each only
// in the files that it names.
import assert from 'node:assert/strict';
import { ProjectCopy } from '../support/project-copy.ts';

// biome-ignore lint/suspicious/noExplicitAny: the build of the copy verifies its shape.
type Json = any;

/** The copy of the project that the recipes change. */
export class Copy extends ProjectCopy {
  editContract(edit: (contract: Json) => void, revive?: (name: string, value: Json) => Json): void {
    const contract: Json = JSON.parse(this.read('schemas/openapi.json'), revive);
    edit(contract);
    this.write('schemas/openapi.json', JSON.stringify(contract));
  }

  addStep(name: string, sql: string): void {
    const file = 'src/storage/schema/steps.ts';
    const steps = '/** The steps in order;';
    // A name may be longer than the one that it replaces.
    const wrapped = sql.replace(/^(?=.{101})(.*) WHERE /gm, '$1\n    WHERE ');
    this.replace(file, steps, `const ${name} = \`${wrapped}\`;\n\n${steps}`);
    const [list = assert.fail()] =
      /STEPS: readonly string\[\] = \[[^\]]*/.exec(this.read(file)) ?? [];
    this.replace(file, list, `${list.replace(/,\s*$/, '')}, ${name}`);
  }

  /** Adds `text` before what the file has exactly once. */
  insert(file: string, text: string, before: string): void {
    this.replace(file, before, text + before);
  }
}

const STRING = { type: 'string', format: 'well-formed' };

/** A field of each type: its schema, and another value than its default. */
const FIELDS: Readonly<Record<string, readonly [schema: Json, other: unknown]>> = {
  pinned: [{ type: 'boolean', default: false }, true],
  priority: [{ type: 'integer', minimum: 0, maximum: 9, default: 0 }, 7],
  summary: [{ ...STRING, maxLength: 200, default: 'none' }, 'In short: kumquat.'],
  progress: [{ type: 'string', enum: ['open', 'done'], default: 'open' }, 'done'],
};

const entries = Object.entries(FIELDS);

/** The defaults of these fields, and other values. */
export const [DEFAULTS, OTHERS] = [
  Object.fromEntries(entries.map(([name, [schema]]) => [name, schema.default])),
  Object.fromEntries(entries.map(([name, [, other]]) => [name, other])),
];

/** The order of parameters and members must not matter. */
function reverseContract(copy: Copy): void {
  copy.editContract(
    () => {},
    (name, value) => {
      if (name === 'parameters' && Array.isArray(value)) return value.reverse();
      return name === 'properties' ? Object.fromEntries(Object.entries(value).reverse()) : value;
    },
  );
}

function addFields(copy: Copy): void {
  copy.editContract(({ components: { schemas } }) => {
    const { NotePart } = schemas;
    for (const [name, [{ default: _, ...schema }]] of entries)
      NotePart.properties = {
        [name]: { description: `The ${name}.`, ...schema },
        ...NotePart.properties,
      };
  });
  const columns: string[] = [];
  for (const [name, [{ type, default: byDefault }]] of entries) {
    const isText = type === 'string';
    const field = `{ type: '${isText ? 'text' : type}', default: ${JSON.stringify(byDefault)} }`;
    copy.insert('src/resources/notes.ts', `, ${name}: ${field}`, ' },\n  orders');
    const column = isText ? `TEXT NOT NULL DEFAULT '${byDefault}'` : 'INTEGER NOT NULL DEFAULT 0';
    for (const table of ['notes', 'deleted_notes'])
      columns.push(`ALTER TABLE ${table} ADD COLUMN ${name} ${column};`);
  }
  copy.addStep('FIELDS', columns.join('\n\n'));
}

function addFilters(copy: Copy): void {
  const names = Object.keys(FIELDS);
  copy.insert('src/resources/notes.ts', `filters: ${JSON.stringify(names)},`, '  search: {');
  const indexes = names.map((name) => `CREATE INDEX notes_by_${name} ON notes (${name});`);
  copy.addStep('FILTERS', indexes.join('\n\n'));
}

function addOrder(copy: Copy): void {
  copy.insert('src/resources/notes.ts', `priority: 'notes.priority', `, 'created: ');
}

function addIncludedMember(copy: Copy): void {
  copy.editContract(({ components: { schemas } }) => {
    const description = 'The number of tags; only with `include=tags_count`.';
    const $ref = '#/components/schemas/Count';
    schemas.NotePart.properties.tags_count = { $ref, description };
  });
  const sql = '(SELECT count(*) FROM note_tags WHERE note_id = notes.id)';
  const entry = `included: { tags_count: '${sql}' },`;
  copy.insert('src/resources/notes.ts', entry, '  search: {');
}

/** Leaves entity tags as they are, and the member `tags` of operations. */
const asBinder = (text: string) =>
  text
    .replace(/(?<![eE])tag(?!s":\["T)/g, 'binder')
    .replace(/(?<!headers\/\w*|Record)Tag/g, 'Binder');

/** Returns a part of the contract for binders, without the tool and what leads to notes. */
function binderPart(json: Json): Json {
  return JSON.parse(asBinder(JSON.stringify(json)), (name, value) => {
    const isLeftOut = name === 'notes_count' || name === 'x-tool';
    if (isLeftOut || name.startsWith('listNotesOf')) return undefined;
    return Array.isArray(value) ? value.filter((each) => each !== 'notes_count') : value;
  });
}

/** Binders are as tags are, but for what leads to notes. */
function addResource(copy: Copy): void {
  copy.editContract(({ tags, paths, components }) => {
    tags.push({ name: 'Binders', description: 'Binders have a name.' });
    for (const path of ['/tags', '/tags/{tag_id}']) paths[asBinder(path)] = binderPart(paths[path]);
    for (const parts of Object.values<Json>(components))
      for (const [name, part] of Object.entries<Json>(parts))
        if (name.startsWith('Tag') && name !== 'TagIds' && name !== 'TagIdFilter')
          parts[asBinder(name)] = binderPart(part);
  });
  copy.write('src/resources/binders.ts', asBinder(copy.read('src/resources/tags.ts')));
  declare(copy, 'binders');
  copy.addStep('BINDERS', asBinder(statementsOf(copy, /tags?/)));
}

const asRemark = (text: string) => text.replace(/comment/g, 'remark').replace(/Comment/g, 'Remark');

/** Remarks belong to notes, as comments do. */
function addOwnedResource(copy: Copy): void {
  const remarkPart = (json: Json) =>
    JSON.parse(asRemark(JSON.stringify(json)), (name, value) =>
      name === 'x-tool' ? undefined : value,
    );
  copy.editContract(({ tags, paths, components }) => {
    tags.push({ name: 'Remarks', description: 'Remarks belong to a note.' });
    for (const path of ['/notes/{note_id}/comments', '/notes/{note_id}/comments/{comment_id}'])
      paths[asRemark(path)] = remarkPart(paths[path]);
    for (const parts of Object.values<Json>(components))
      for (const [name, part] of Object.entries<Json>(parts))
        if (name.startsWith('Comment')) parts[asRemark(name)] = remarkPart(part);
  });
  copy.write('src/resources/remarks.ts', asRemark(copy.read('src/resources/comments.ts')));
  declare(copy, 'remarks');
  copy.addStep('REMARKS', asRemark(statementsOf(copy, /comments?/)));
}

function declare(copy: Copy, name: string): void {
  const resources = 'src/resources/resources.ts';
  copy.insert(resources, `import { ${name} } from './${name}.ts';\n`, 'import { notes }');
  copy.insert(resources, `, ${name}`, '];');
}

/** Returns the statements of the schema that create what has such a name. */
function statementsOf(copy: Copy, name: RegExp): string {
  const pattern = new RegExp(`^CREATE (TABLE|INDEX|TRIGGER) ${name.source}_?\\w* `);
  const statements = copy.read('src/storage/schema/records.ts').split(/\n\n|\n`,\n/);
  return statements.filter((each) => pattern.test(each)).join('\n\n');
}

function addOperation(copy: Copy): void {
  copy.editContract(({ paths }) => {
    const operation = structuredClone(paths['/key'].get);
    const texts = { summary: 'Count the notes', description: 'Returns the number of notes.' };
    Object.assign(operation, { operationId: 'getStats', tags: ['Notes'], ...texts });
    delete operation.responses[404];
    const content = operation.responses[200].content['application/json'];
    content.schema = { $ref: '#/components/schemas/Count' };
    content.examples = { one: { summary: 'A note', value: 1 } };
    paths['/stats'] = { get: operation };
  });
  copy.write(
    'src/stats/feature.ts',
    `import { endpoint } from '../contract/endpoint.ts';
import type { Core, Feature } from '../feature.ts';
import { jsonReply } from '../http/reply.ts';
export const stats = ({ database: { read } }: Core): Feature => ({
  routes: () => [endpoint('GET', '/stats', async () => {
    const [row] = await read({ sql: 'SELECT count(*) AS count FROM notes' });
    return jsonReply(200, String(row?.count), ['cache-control', 'no-store']);
  })],
});\n`,
  );
  copy.insert('src/app.ts', '    stats(core),\n', '    tags(core),\n');
  const imported = `import { stats } from './stats/feature.ts';\n`;
  copy.insert('src/app.ts', imported, `import { QueueFull } from`);
  copy.insert('README.md', '| `stats/` | how many notes there are |\n', '| `docs/`');
}

function addTool(copy: Copy): void {
  copy.editContract(({ paths }) => {
    // The list of all tools has little room.
    const annotations = { readOnlyHint: true, openWorldHint: false };
    const texts = { title: 'List binders', description: 'Lists the binders.' };
    const listing = { name: 'list_binders', ...texts, annotations };
    const tool = { position: 15, listing, arguments: {} };
    const requests = [{ operation: 'listBinders' }];
    const { post } = paths['/mcp'];
    post.description = post.description.replace('`;', '`, `list_binders`;');
    paths['/binders'].get['x-tool'] = { ...tool, requests };
  });
}

function addDemonstration(copy: Copy): void {
  copy.editContract(({ paths, components: { schemas } }) => {
    const item = JSON.parse(JSON.stringify(paths['/pool/run']).replaceAll('Pool', 'Echo'));
    const examples = { two: { summary: 'Two threads', value: { items: ['a', 'b'] } } };
    for (const { content } of [item.post.requestBody, item.post.responses[200]])
      content['application/json'].examples = examples;
    paths['/echo/run'] = item;
    const items = { description: 'The items.', type: 'array', items: STRING, maxItems: 8 };
    const description = 'Items, each of which a thread returns.';
    const schema = { description, type: 'object', properties: { items }, required: ['items'] };
    schemas.EchoInput = { ...schema, additionalProperties: false };
    schemas.EchoResult = schema;
  });
  copy.write(
    'src/concurrency/echo.ts',
    `import { demonstration } from './thread.ts';
export const echo = demonstration({
  prepare: ({ items }: { items: readonly string[] }) => ({
    inputs: items,
    answer: (items: readonly string[]) => JSON.stringify({ items }),
  }),
  work: (item) => item,
});\n`,
  );
  const tasks = 'src/concurrency/tasks.ts';
  copy.insert(tasks, `  '/echo/run': echo,\n`, `  '/pool/run': pool,\n`);
  copy.insert(tasks, `import { echo } from './echo.ts';\n`, `import { event }`);
}

function addProblem(copy: Copy): void {
  copy.insert('src/http/problem.ts', '  teapot: 418,\n', `  'validation-failed': 422,`);
  copy.editContract(({ components: { responses }, paths }) => {
    const type = 'http://127.0.0.1:3000/problems/teapot';
    const value = { type, title: "I'm a Teapot", status: 418, detail: 'No.' };
    const response = structuredClone(responses.NotFoundResponse);
    response.description = 'The service makes tea.';
    response.content['application/problem+json'].examples = {
      teapot: { summary: 'Tea', 'x-remedy': 'Ask for tea.', value },
    };
    responses.TeapotResponse = response;
    paths['/livez'].get.responses[418] = { $ref: '#/components/responses/TeapotResponse' };
  });
  const health = 'src/health/feature.ts';
  const isTea = `name === 'livez' && verbose === '1'`;
  const tea = `if (${isTea}) throw new Problem('teapot', 'This is a teapot.');`;
  copy.insert(health, `  ${tea}\n`, '  const passed = ');
  copy.replace(health, 'import { unavailable }', 'import { Problem, unavailable }');
}

function addOption(copy: Copy): void {
  const texts = `flag: 'greeting', value: 'TEXT', help: 'what to say at the start'`;
  const entry = `  greeting: { ${texts}, parse: values.parseText },\n`;
  copy.insert('src/cli/option-table.ts', entry, '  apiKeysFile: {');
  const greet = `  if (options.greeting) log.write('info', options.greeting);\n`;
  copy.insert('src/app.ts', greet, '  const guarded = await guards(');
  const greeting = '  readonly greeting?: string | undefined;\n';
  copy.insert('src/library.ts', greeting, '  readonly port?: number | undefined;');
}

function addCommand(copy: Copy): void {
  const greet = "export const hello = (name: string) => 'Hello, '.concat(name);\n";
  copy.write('src/commands/hello.ts', greet);
  const texts = `name: 'hello', operand: '[NAME]', help: 'greet somebody', example: 'hello Ada'`;
  const lines = `lines: [(await import('../commands/hello.ts')).hello(operand)]`;
  const entry = `  { ${texts}, flags: [], run: async ({ operand }) => ({ ${lines} }) },\n`;
  copy.insert('src/cli/commands.ts', entry, `  {\n    name: 'help',`);
}

/** All recipes. */
export const RECIPES: readonly ((copy: Copy) => void)[] = [
  ...[reverseContract, addFields, addFilters, addOrder, addIncludedMember, addResource],
  ...[addOwnedResource, addOperation, addTool, addDemonstration, addProblem, addOption, addCommand],
];
