// Carries out the recipes of the README on a copy of the project, each only in the files that it
// names. Then builds the copy and uses what is new.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { runCommand, startCommand } from '../support/command.ts';
import { send } from '../support/http.ts';
import { ProjectCopy } from '../support/project-copy.ts';

// biome-ignore lint/suspicious/noExplicitAny: the copy's checks verify its shape.
type Json = any;

/** The copy of the project that the recipes change. */
class Copy extends ProjectCopy {
  editContract(edit: (contract: Json) => void): void {
    const contract: Json = JSON.parse(this.read('schemas/openapi.json'));
    edit(contract);
    this.write('schemas/openapi.json', JSON.stringify(contract));
  }

  addStep(name: string, sql: string): void {
    const file = 'src/storage/schema/steps.ts';
    this.replace(
      file,
      '/** The steps in order;',
      `const ${name} = \`${sql}\`;\n\n/** The steps in order;`,
    );
    const steps = /STEPS: readonly string\[\] = \[(.*)\]/.exec(this.read(file));
    assert.ok(steps?.[1]);
    this.replace(file, `= [${steps[1]}]`, `= [${steps[1]}, ${name}]`);
  }
}

function addField(copy: Copy): void {
  copy.editContract((contract) => {
    const { Note, NotePart, NoteInput, NotePatch } = contract.components.schemas;
    const schema = { description: 'Whether the note is pinned.', type: 'boolean' };
    for (const { properties } of [NotePart, NotePatch]) properties.pinned = schema;
    NoteInput.properties.pinned = { ...schema, default: false };
    Note.required.push('pinned');
    const { NoteFields, ChangesFields } = contract.components.parameters;
    for (const { schema } of [NoteFields, ChangesFields]) {
      schema.items.enum.push('pinned');
      schema.maxItems += 1;
    }
  });
  const fields = 'fields: { title: text, body: text';
  const pinned = `pinned: { type: 'boolean', default: false }`;
  copy.replace('src/resources/notes.ts', fields, `${fields}, ${pinned}`);
  const column = 'pinned INTEGER NOT NULL DEFAULT 0';
  copy.addStep('PINNED', `ALTER TABLE notes ADD COLUMN ${column};\n`);
}

function addFilter(copy: Copy): void {
  copy.editContract((contract) => {
    const parameters = contract.paths['/notes'].get.parameters;
    const description = 'Only notes with exactly this title.';
    parameters.push({ name: 'title', in: 'query', description, schema: { type: 'string' } });
  });
  copy.replace(
    'src/resources/notes.ts',
    `table: 'notes',`,
    `table: 'notes',\n  filters: ['title'],`,
  );
  copy.addStep('TITLES', 'CREATE INDEX notes_by_title ON notes (title);\n');
}

const asFolder = (text: string) =>
  text.replaceAll('tag', 'folder').replaceAll('Tag', 'Folder').replaceAll('TAG', 'FOLDER');

/** Folders are as tags are, but for their links to notes. */
function addResource(copy: Copy): void {
  copy.editContract((contract) => {
    const tag = { name: 'Folders', description: 'Folders have a name.' };
    contract.tags.push(tag);
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
  const imported = `import { notes } from './notes.ts';`;
  copy.replace(resources, imported, `import { folders } from './folders.ts';\n${imported}`);
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

function addProblem(copy: Copy): void {
  copy.replace(
    'src/http/problem.ts',
    `  'validation-failed': 422,`,
    `  teapot: 418,\n  'validation-failed': 422,`,
  );
  copy.editContract((contract) => {
    const response = structuredClone(contract.components.responses.NotFoundResponse);
    const value = { type: '/problems/teapot', title: "I'm a Teapot", status: 418, detail: 'No.' };
    const examples = { teapot: { summary: 'Tea', 'x-remedy': 'Ask for tea.', value } };
    Object.assign(response, { description: 'The service makes tea.' });
    Object.assign(response.content['application/problem+json'], { examples });
    Object.assign(contract.components.responses, { TeapotResponse: response });
    const $ref = '#/components/responses/TeapotResponse';
    Object.assign(contract.paths['/livez'].get.responses, { 418: { $ref } });
  });
  const health = 'src/health/feature.ts';
  const handler = `      probeReply('livez', parameters.verbose, { ping: true }),`;
  copy.replace(health, handler, handler.replace('probeReply', `teaOrReply`));
  copy.replace(
    health,
    '/** Returns `ok`, or a line',
    `function teaOrReply(...[name, verbose, checks]: Parameters<typeof probeReply>): Reply {
  if (verbose !== undefined) throw new Problem('teapot', 'This is a teapot.');
  return probeReply(name, verbose, checks);
}

/** Returns \`ok\`, or a line`,
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
  copy.replace('src/cli/option-table.ts', '  apiKeysFile: {', `  ${entry}\n  apiKeysFile: {`);
  const start = '  const keys = await loadKeys(options, siblings.keys);';
  const greet = `if (options.greeting) log.write('info', options.greeting);`;
  copy.replace('src/app.ts', start, `  ${greet}\n${start}`);
  const port = '  readonly port?: number | undefined;';
  copy.replace('src/library.ts', port, `${port}\n  readonly greeting?: string | undefined;`);
}

function addCommand(copy: Copy): void {
  copy.write(
    'src/commands/hello.ts',
    "export const hello = (name: string) => 'Hello, '.concat(name);\n",
  );
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
  const help = `  {\n    name: 'help',`;
  copy.replace('src/cli/commands.ts', help, `${entry}${help}`);
}

test('recipes: what they describe works', { timeout: 300_000 }, async (t) => {
  const copy = new Copy(t);
  const launcher = copy.path('bin/notes-server');
  for (const carryOut of [addField, addFilter, addResource, addProblem, addOption, addCommand])
    carryOut(copy);
  try {
    execFileSync('npm', ['run', 'build', '--silent'], { cwd: copy.folder, encoding: 'utf8' });
  } catch (error) {
    assert.fail(`the copy can be built: ${(error as { stdout?: string }).stdout}`);
  }
  const service = startCommand(t, ['--port', '0', '--greeting', 'Hello, operator'], { launcher });
  const url = await service.ready();
  const json = async (method: string, path: string, body?: object) => {
    const { status, text } = await send(url, method, path, body && { json: body });
    return { status, ...(text && { body: JSON.parse(text) }) };
  };

  await t.test('a field', async () => {
    const plain = { title: 'a', body: 'b' };
    const created = await json('POST', '/notes', { ...plain, pinned: true });
    assert.deepEqual(created, { status: 201, body: { id: 1, ...plain, pinned: true } });
    const second = await json('POST', '/notes', plain);
    assert.deepEqual(second.body, { id: 2, ...plain, pinned: false });
    assert.deepEqual((await json('PUT', '/notes/1', plain)).body, {
      id: 1,
      ...plain,
      pinned: false,
    });
    assert.equal((await json('PATCH', '/notes/1', { pinned: true })).body.pinned, true);
    assert.equal((await json('PATCH', '/notes/1', {})).body.pinned, true);
    assert.equal((await json('PATCH', '/notes/1', { pinned: 'yes' })).status, 422);
    assert.deepEqual((await json('GET', '/notes/1?fields=pinned')).body, { pinned: true });
  });

  await t.test('a filter', async () => {
    const ids = async (query: string) =>
      (await json('GET', `/notes?${query}`)).body.items.map(({ id }: { id: number }) => id);
    assert.deepEqual(await ids('title=a'), [1, 2]);
    assert.deepEqual(await ids('title=a&q=b'), [1, 2]);
    assert.deepEqual(await ids('title=b'), []);
  });

  await t.test('a resource', async () => {
    const { next } = (await json('GET', '/changes')).body;
    const created = await json('POST', '/folders', { name: 'work' });
    assert.deepEqual(created, { status: 201, body: { id: 1, name: 'work' } });
    assert.equal((await json('GET', '/folders?name=work')).body.total, 1);
    assert.equal((await json('PUT', '/folders/1', { name: 'home' })).body.name, 'home');
    assert.equal((await json('DELETE', '/folders/1')).status, 204);
    assert.equal((await json('GET', '/folders/1')).body.detail, 'Folder with ID 1 was not found.');
    assert.match((await send(url, 'GET', `/changes?since=${next}`)).text, /"folder\.deleted"/);
  });

  await t.test('a problem', async () => {
    const { status, body } = await json('GET', '/livez?verbose');
    assert.deepEqual([status, body.status], [418, 418]);
    assert.ok(body.type.endsWith('/problems/teapot'));
    assert.match((await send(url, 'GET', '/problems/teapot')).text, /Ask for tea\./);
  });

  await t.test('an option', async () => {
    await service.says('Hello, operator');
    assert.match((await runCommand(t, ['--help'], { launcher })).stdout, /--greeting TEXT/);
  });

  await t.test('a command', async () => {
    const { status, stdout } = await runCommand(t, ['hello', 'Ada'], { launcher });
    assert.deepEqual([status, stdout], [0, 'Hello, Ada\n']);
  });
});
