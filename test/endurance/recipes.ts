// The recipes of the guide to changing the service, carried out on a copy of the project: each only
// in the files that it names.
import assert from 'node:assert/strict';
import { ProjectCopy } from '../support/project-copy.ts';

// biome-ignore lint/suspicious/noExplicitAny: the build of the copy verifies its shape.
type Json = any;

/** The copy of the project that the recipes change. */
export class Copy extends ProjectCopy {
  editContract(edit: (contract: Json) => void): void {
    const contract: Json = JSON.parse(this.read('schemas/openapi.json'));
    edit(contract);
    this.write('schemas/openapi.json', JSON.stringify(contract));
  }

  addStep(name: string, sql: string): void {
    const file = 'src/storage/schema/steps.ts';
    const steps = '/** The steps in order;';
    this.replace(file, steps, `const ${name} = \`${sql}\`;\n\n${steps}`);
    const [list = assert.fail()] =
      /STEPS: readonly string\[\] = \[[^\]]*/.exec(this.read(file)) ?? [];
    this.replace(file, list, `${list}, ${name}`);
  }

  /** Adds `text` before what the file has exactly once. */
  insert(file: string, text: string, before: string): void {
    this.replace(file, before, text + before);
  }
}

const STRING = { type: 'string', format: 'well-formed' };

/** A field of each type: its schema, its type in resources/ and in SQL, and another value. */
export const FIELDS = {
  pinned: [{ type: 'boolean', default: false }, 'boolean', 'INTEGER NOT NULL DEFAULT 0', true],
  priority: [
    { type: 'integer', minimum: 0, maximum: 9, default: 0 },
    ...['integer', 'INTEGER NOT NULL DEFAULT 0', 7],
  ],
  summary: [
    { ...STRING, maxLength: 200, default: 'none' },
    ...['text', `TEXT NOT NULL DEFAULT 'none'`, 'In short: kumquat.'],
  ],
  progress: [
    { type: 'string', enum: ['open', 'done'], default: 'open' },
    ...['text', `TEXT NOT NULL DEFAULT 'open'`, 'done'],
  ],
} as const;

function addFields(copy: Copy): void {
  copy.editContract((contract) => {
    const { schemas, parameters } = contract.components;
    completeExamples(contract);
    for (const [name, [declared]] of Object.entries(FIELDS)) {
      const { default: byDefault, ...schema } = { description: `The ${name}.`, ...declared };
      // In front of the others, as order must not matter.
      for (const part of [schemas.NotePart, schemas.NotePatch])
        part.properties = { [name]: schema, ...part.properties };
      schemas.NoteInput.properties[name] = { ...schema, default: byDefault };
      schemas.Note.required.unshift(name);
      for (const { schema } of [parameters.NoteFields, parameters.ChangesFields]) {
        schema.items.enum.push(name);
        schema.items['x-enum-varnames']?.push(name);
        schema.maxItems += 1;
      }
    }
  });
  const fields = Object.entries(FIELDS).map(([name, [{ default: byDefault }, type]]) => {
    return `, ${name}: { type: '${type}', default: ${JSON.stringify(byDefault)} }`;
  });
  const known = 'fields: { title: text, body: text';
  copy.replace('src/resources/notes.ts', known, known + fields.join(''));
  const columns = Object.entries(FIELDS).map(([name, [, , column]]) => {
    return `ALTER TABLE notes ADD COLUMN ${name} ${column};`;
  });
  copy.addStep('FIELDS', columns.join('\n'));
}

/** Adds the fields to the examples of whole notes. */
function completeExamples(json: Json): void {
  if (typeof json !== 'object' || json === null) return;
  if ('id' in json && 'title' in json && typeof json.body === 'string')
    for (const [name, [schema]] of Object.entries(FIELDS)) json[name] = schema.default;
  for (const each of Object.values(json)) completeExamples(each);
}

function addFilters(copy: Copy): void {
  const names = Object.keys(FIELDS);
  copy.editContract(({ paths }) => {
    for (const [name, [{ type, default: byDefault, ...bounds }]] of Object.entries(FIELDS)) {
      const values = type === 'boolean' ? { type: 'string', enum: ['true', 'false'] } : { type };
      const description = `Only notes with this ${name}.`;
      const parameter = { name, in: 'query', description, schema: { ...values, ...bounds } };
      for (const path of ['/notes', '/tags/{tag_id}/notes'])
        paths[path].get.parameters.push(parameter);
    }
  });
  copy.insert('src/resources/notes.ts', `filters: ${JSON.stringify(names)},`, '  included: {');
  const indexes = names.map((name) => `CREATE INDEX notes_by_${name} ON notes (${name});`);
  copy.addStep('FILTERS', indexes.join(' '));
}

function addIncludedMember(copy: Copy): void {
  copy.editContract(({ components: { schemas, parameters } }) => {
    const description = 'The number of comments; only with `include=comments_count`.';
    const $ref = '#/components/schemas/Count';
    schemas.NotePart.properties.comments_count = { $ref, description };
    for (const { properties } of [schemas.NoteInput, schemas.NotePatch])
      properties.comments_count = { $ref: '#/components/schemas/Ignored' };
    for (const { schema } of [parameters.NoteInclude, parameters.NoteListInclude]) {
      schema.items.enum.push('comments_count');
      schema.maxItems += 1;
    }
  });
  const sql = '(SELECT count(*) FROM comments WHERE note_id = notes.id)';
  copy.insert('src/resources/notes.ts', `    comments_count: '${sql}',\n`, '    tag_ids: `');
}

/** Leaves entity tags as they are. */
const asFolder = (text: string) =>
  text.replace(/(?<![eE]|Record)tag/g, 'folder').replace(/(?<!Record)Tag/g, 'Folder');

/** Folders are as tags are, but for their links to notes. */
function addResource(copy: Copy): void {
  copy.editContract((contract) => {
    contract.tags.push({ name: 'Folders', description: 'Folders have a name.' });
    const operations = ['/tags', '/tags/{tag_id}'].map((path) => [path, contract.paths[path]]);
    const paths = withoutLinks(
      JSON.parse(asFolder(JSON.stringify(Object.fromEntries(operations)))),
    );
    Object.assign(contract.paths, paths);
    for (const parts of Object.values<Json>(contract.components))
      for (const [name, part] of Object.entries<Json>(parts))
        if (name.startsWith('Tag') && name !== 'TagIds' && name !== 'TagIdFilter')
          parts[asFolder(name)] = withoutLinks(JSON.parse(asFolder(JSON.stringify(part))));
  });
  const declaration = copy.read('src/resources/tags.ts');
  copy.write('src/resources/folders.ts', asFolder(declaration));
  const resources = 'src/resources/resources.ts';
  copy.replace(resources, '[notes, tags, comments]', '[notes, tags, comments, folders]');
  copy.insert(
    resources,
    `import { folders } from './folders.ts';\n`,
    `import { notes } from './notes.ts';`,
  );
  const steps = copy.read('src/storage/schema/steps.ts');
  const ofTags = steps
    .split('\n\n')
    .filter((statement) => /^CREATE (TABLE|INDEX|TRIGGER) tags?_?\w* /.test(statement));
  copy.addStep('FOLDERS', `\n${asFolder(ofTags.join('\n\n'))}\n`);
}

/** Removes what leads from folders to notes. */
function withoutLinks(json: Json): Json {
  if (Array.isArray(json))
    return json
      .filter((each) => each?.$ref !== '#/components/parameters/FolderInclude')
      .map(withoutLinks);
  if (typeof json !== 'object' || json === null) return json;
  const members = Object.entries(json).filter(
    ([name]) => name !== 'notes_count' && !/^listNotesOf/.test(name),
  );
  return Object.fromEntries(members.map(([name, value]) => [name, withoutLinks(value)]));
}

function addOperation(copy: Copy): void {
  copy.editContract(({ paths }) => {
    const operation = structuredClone(paths['/key'].get);
    const text = { summary: 'Count the notes', description: 'Returns the number of notes.' };
    Object.assign(operation, { operationId: 'getStats', tags: ['Notes'], ...text });
    delete operation.responses[404];
    const schema = {
      description: 'The number of notes.',
      type: 'object',
      properties: { notes: { $ref: '#/components/schemas/Count' } },
      required: ['notes'],
    };
    const content = { schema, examples: { one: { summary: 'A note', value: { notes: 1 } } } };
    operation.responses[200].content['application/json'] = content;
    paths['/stats'] = { get: operation };
  });
  copy.write(
    'src/stats/feature.ts',
    `// GET /stats: how many notes there are.
import { endpoint } from '../contract/endpoint.ts';
import type { Core, Feature } from '../feature.ts';
import { jsonReply } from '../http/reply.ts';

/** Counts the notes. */
export function stats({ database }: Core): Feature {
  const route = endpoint('GET', '/stats', async () => {
    const [row] = await database.read({ sql: 'SELECT count(*) AS notes FROM notes' });
    return jsonReply(200, JSON.stringify(row));
  });
  return { routes: () => [route] };
}
`,
  );
  copy.insert('src/app.ts', '    stats(core),\n', '    changes(core),\n');
  const after = `import { fileSizes } from './storage/sqlite/files.ts';\n`;
  copy.insert('src/app.ts', `import { stats } from './stats/feature.ts';\n`, after);
}

function addDemonstration(copy: Copy): void {
  copy.editContract(({ paths, components: { schemas } }) => {
    const item = asEcho(paths['/pool/run']);
    const examples = { two: { summary: 'Two threads', value: { items: ['a', 'b'] } } };
    for (const { content } of [item.post.requestBody, item.post.responses[200]])
      content['application/json'].examples = examples;
    paths['/echo/run'] = item;
    const items = { description: 'The items.', type: 'array', items: STRING, maxItems: 8 };
    const schema = { description: 'Items.', type: 'object', properties: { items } };
    schemas.EchoInput = { ...schema, required: ['items'], additionalProperties: false };
    schemas.EchoResult = { ...schema, required: ['items'] };
  });
  copy.write(
    'src/concurrency/echo.ts',
    `// POST /echo/run: each thread returns its item.
import type { Demonstration } from './thread.ts';

/** Demonstrates that each thread gets its own input. */
export const echo: Demonstration<{ items: readonly string[] }, string, string> = {
  prepare: ({ items }) => ({
    inputs: items,
    answer: (results) => JSON.stringify({ items: results }),
  }),
  work: (item) => item,
};
`,
  );
  const tasks = 'src/concurrency/tasks.ts';
  copy.insert(tasks, `  '/echo/run': echo,\n`, `  '/pool/run': pool,\n`);
  copy.insert(tasks, `import { echo } from './echo.ts';\n`, `import { event }`);
}

function asEcho(json: Json): Json {
  return JSON.parse(JSON.stringify(json).replaceAll('Pool', 'Echo'));
}

function addProblem(copy: Copy): void {
  copy.insert('src/http/problem.ts', '  teapot: 418,\n', `  'validation-failed': 422,`);
  copy.editContract((contract) => {
    const response = structuredClone(contract.components.responses.NotFoundResponse);
    const type = 'http://127.0.0.1:3000/problems/teapot';
    const value = { type, title: "I'm a Teapot", status: 418, detail: 'No.' };
    const examples = { teapot: { summary: 'Tea', 'x-remedy': 'Ask for tea.', value } };
    Object.assign(response, { description: 'The service makes tea.' });
    Object.assign(response.content['application/problem+json'], { examples });
    Object.assign(contract.components.responses, { TeapotResponse: response });
    const $ref = '#/components/responses/TeapotResponse';
    Object.assign(contract.paths['/livez'].get.responses, { 418: { $ref } });
  });
  const health = 'src/health/feature.ts';
  copy.replace(health, `probeReply('livez', parameters`, `teaOrReply('livez', parameters`);
  copy.insert(
    health,
    `function teaOrReply(...[name, verbose, checks]: Parameters<typeof probeReply>): Reply {
  if (verbose !== undefined) throw new Problem('teapot', 'This is a teapot.');
  return probeReply(name, verbose, checks);
}

`,
    '/** Returns `ok`, or a line',
  );
  copy.replace(health, 'import { unavailable }', 'import { Problem, unavailable }');
}

function addOption(copy: Copy): void {
  const entry = `greeting: {
    flag: 'greeting',
    value: 'TEXT',
    help: 'what to say at the start',
    parse: values.parseText,
  },`;
  copy.insert('src/cli/option-table.ts', `  ${entry}\n`, '  apiKeysFile: {');
  const greet = `  if (options.greeting) log.write('info', options.greeting);\n`;
  copy.insert('src/app.ts', greet, '  const keys = await loadKeys(options, siblings.keys);');
  const greeting = '  readonly greeting?: string | undefined;\n';
  copy.insert('src/library.ts', greeting, '  readonly port?: number | undefined;');
}

function addCommand(copy: Copy): void {
  const greet = "export const hello = (name: string) => 'Hello, '.concat(name);\n";
  copy.write('src/commands/hello.ts', greet);
  const entry = `  {
    name: 'hello',
    operand: '[NAME]',
    flags: [],
    help: 'greet somebody',
    example: 'hello Ada',
    async run({ operand }) {
      const { hello } = await import('../commands/hello.ts');
      return { lines: [hello(operand)] };
    },
  },
`;
  copy.insert('src/cli/commands.ts', entry, `  {\n    name: 'help',`);
}

/** All recipes. */
export const RECIPES: readonly ((copy: Copy) => void)[] = [
  ...[addFields, addFilters, addIncludedMember, addResource, addOperation, addDemonstration],
  ...[addProblem, addOption, addCommand],
];
