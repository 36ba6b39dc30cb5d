// Compiles the schemas of the contract into validators, so that the service does not need Ajv.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { _, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { useFunc } from 'ajv/dist/compile/util.js';
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
import standalone from 'ajv/dist/standalone/index.js';
import limitLength from 'ajv/dist/vocabularies/validation/limitLength.js';
import { build } from 'esbuild';
import { JSON_LINES } from '../http/body/formats.ts';
import { PROBLEM_STATUS } from '../http/problem.ts';
import { parseTime } from '../time.ts';
import { type Json, type JsonObject, type Shared, toolsOf } from './tools.ts';

const CONTRACT_ID = 'contract';
const IGNORED = `${CONTRACT_ID}#/components/schemas/Ignored`;
/** Ignored, too, unless the request creates a record. */
const OF_CREATIONS = ['CreationTime', 'CreationName'].map(
  (name) => `${CONTRACT_ID}#/components/schemas/${name}`,
);
const PROBLEM_JSON = 'application/problem+json';

/** The keywords of OpenAPI and of generators. Ajv's strict mode rejects unknown ones. */
const OTHER_KEYWORDS = [
  ...['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components', 'x-enum-varnames'],
];

/** Compiles the contract into the modules generated.js below `output`; rejects if it is wrong. */
export async function compileContract(contract: URL, output: URL): Promise<void> {
  const document = JSON.parse(await readFile(contract, 'utf8'), prepare) as JsonObject;
  const { contents, tools } = new Contract(document).write();
  await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outfile: fileURLToPath(new URL('contract/generated.js', output)),
    legalComments: 'inline',
  });
  await mkdir(new URL('assistants/', output), { recursive: true });
  await writeFile(new URL('assistants/generated.js', output), tools);
}

/** The keyword of names. What else their schema has says the same to clients, but less clearly. */
const NAME = 'x-note-name';

/** Makes references absolute, so that every schema of the document compiles on its own. */
function prepare(name: string, value: Json): Json | undefined {
  // The service checks the names of members itself: that is faster, and finds what was meant.
  if (name === 'additionalProperties') return undefined;
  if (value instanceof Object && NAME in value) {
    const { type, description = '', maxLength = 0 } = value as JsonObject;
    return { ...(type && { type }), description, [NAME]: maxLength };
  }
  return name === '$ref' ? CONTRACT_ID + value : value;
}

/** Whether a validator ends at the first violation, or finds all, which takes longer. */
type Mode = 'first' | 'all';

/** Checks minLength or maxLength; counts code points, which is slow, only if that decides. */
function limitLengthCode(cxt: KeywordCxt): void {
  const { data, keyword, schemaCode: limit, gen } = cxt;
  const count = _`${useFunc(gen, ucs2length.default)}(${data})`;
  const isTooLong = _`${data}.length > ${limit} && ${count} > ${limit}`;
  const isTooShort = _`${data}.length < 2 * ${limit} && ${count} < ${limit}`;
  cxt.fail(keyword === 'maxLength' ? isTooLong : isTooShort);
}

/** Says what is wrong with a name. */
function nameCode(cxt: KeywordCxt): void {
  const fault = cxt.gen.const('fault', _`faultInName(${cxt.data}, ${cxt.schema})`);
  cxt.setParams({ fault });
  cxt.fail(_`${fault} !== undefined`);
}

class Contract {
  readonly #document: JsonObject;
  readonly #ajvs: Readonly<Record<Mode, Ajv2020>>;
  readonly #names = { first: new Map<Json, string>(), all: new Map<Json, string>() };

  constructor(document: JsonObject) {
    this.#document = document;
    const options = { strict: true, code: { source: true, formats: _`formats` } };
    this.#ajvs = { first: new Ajv2020(options), all: new Ajv2020({ ...options, allErrors: true }) };
    for (const ajv of Object.values(this.#ajvs)) {
      ajv.addVocabulary(OTHER_KEYWORDS);
      ajv.removeKeyword('maxLength').removeKeyword('minLength');
      // Before `pattern`: a regular expression may take long on a text that is too long.
      ajv.addKeyword({ ...limitLength.default, code: limitLengthCode, before: 'pattern' });
      ajv.addKeyword({
        keyword: NAME,
        type: 'string',
        error: {
          message: ({ params }) => _`${params.fault}[1]`,
          params: ({ params }) => _`{ code: ${params.fault}[0] }`,
        },
        code: nameCode,
      });
      ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
      ajv.addFormat('date-time', (text: string) => parseTime(text) !== undefined);
      // This format is for code generators; the bounds say which integers are accepted.
      ajv.addFormat('int64', true);
      ajv.addSchema(document, CONTRACT_ID);
    }
  }

  /** Returns a placeholder for a validator, which `withExpressions` replaces. */
  #validator(mode: Mode, schema: JsonObject): string {
    const names = this.#names[mode];
    const name = names.get(schema) ?? `schema${names.size}`;
    if (!names.has(schema)) this.#ajvs[mode].addSchema(schema, name);
    names.set(schema, name);
    return `validator:${mode}.${name}`;
  }

  /** Returns the source of all validators of a mode. Ajv writes a CommonJS module, so wrap it. */
  #declaration(mode: Mode): string {
    const names = [...this.#names[mode].values()].map((name) => [name, name]);
    const code = standalone.default(this.#ajvs[mode], Object.fromEntries(names));
    return `const ${mode} = ((exports) => {\n${code}\nreturn exports;\n})({});`;
  }

  /** Returns the sources. `contents` imports parts of Ajv, which esbuild puts into it. */
  write(): { contents: string; tools: string } {
    const paths = Object.entries(this.#document.paths as Record<string, JsonObject>);
    const operations = paths.flatMap(([template, item]) => {
      const methods = ['get', 'post', 'put', 'patch', 'delete'].filter((method) => method in item);
      return methods.map((method) => this.#operationOf(template, method, item));
    });
    const tags = this.#find('/components/parameters/TagIdFilter/schema');
    const bounds = [
      this.#find('/components/parameters/SearchText/x-bounds'),
      this.#find('/components/requestBodies/NoteCreateRequest/x-bounds'),
      this.#find('/components/requestBodies/EditRequest/x-bounds'),
    ];
    const snippet = this.#find('/components/schemas/Snippet/properties/text');
    const noteBody = this.#find('/components/schemas/NoteBody');
    const name = this.#find('/components/schemas/NoteName');
    const title = this.#find('/components/schemas/NoteTitle');
    const { instructions, ...shared } = this.#find('/components/x-tools');
    const tools = toolsOf(
      this.#document.paths as Record<string, JsonObject>,
      shared as unknown as Shared,
      (schema) => this.#merge(schema),
      (schema) => this.#validator('first', schema),
    );
    const contents = [
      `import { faultInName } from '../name.js';`,
      `import { parseTime } from '../time.js';`,
      `const formats = { 'well-formed': (text) => text.isWellFormed(), 'date-time': parseTime };`,
      this.#declaration('first'),
      this.#declaration('all'),
      `export const operations = ${withExpressions(operations)};`,
      `export const MAX_SNIPPET_LENGTH = ${snippet.maxLength};`,
      `export const MAX_BODY_LENGTH = ${noteBody.maxLength};`,
      `export const MAX_TITLE_LENGTH = ${title.maxLength};`,
      `export const MAX_NAME_LENGTH = ${name[NAME]};`,
      `export const MAX_TAG_FILTERS = ${tags.maxItems};`,
      `export const BOUNDS = ${JSON.stringify(Object.assign({}, ...bounds))};`,
      `export const problems = ${JSON.stringify(this.#problemsOf())};`,
      'export { first };',
    ];
    const toolLines = [
      `import { first } from '../contract/generated.js';`,
      `export const tools = ${withExpressions(tools)};`,
      `export const TOOL_HELP = ${JSON.stringify({ instructions })};`,
    ];
    return { contents: contents.join('\n'), tools: toolLines.join('\n') };
  }

  #operationOf(template: string, method: string, item: JsonObject): object {
    const operation = item[method] as JsonObject;
    const declared = [item, operation].flatMap((each) => (each.parameters ?? []) as JsonObject[]);
    const all = declared.map((each) => this.#resolve(each));
    const isHeader = (each: JsonObject) => each.in === 'header';
    const placeOf = ({ name, in: place }: JsonObject) =>
      place === 'path' ? template.indexOf(`{${name}}`) : template.length;
    const { operationId: id, requestBody, responses, 'x-ignores-parameters': isOpen } = operation;
    const inQuery = all.filter((each) => each.in === 'query').map(({ name }) => name);
    const checksNames = '422' in (responses as JsonObject) && !isOpen;
    return {
      id,
      method: method.toUpperCase(),
      template,
      queryNames: checksNames ? inQuery : undefined,
      parameters: all
        .filter((each) => !isHeader(each))
        .sort((one, other) => placeOf(one) - placeOf(other))
        .map((each) => this.#parameterOf(each)),
      headers: all.filter(isHeader).map((each) => this.#headerOf(each)),
      body: requestBody && this.#bodyOf(template, requestBody as JsonObject, method === 'post'),
    };
  }

  #headerOf({ name, schema }: JsonObject): object {
    const { description: rule } = schema as JsonObject;
    return { name, rule, validate: this.#validator('first', schema as JsonObject) };
  }

  #parameterOf({ name, in: place, explode, ...parameter }: JsonObject): object {
    const declared = parameter.schema as JsonObject;
    const schema = this.#merge(declared);
    const isList = schema.type === 'array';
    const { type } = isList ? this.#merge(schema.items as JsonObject) : schema;
    return {
      name,
      in: place,
      isInteger: type === 'integer',
      isList,
      hasCommas: isList && (type === 'integer' || explode === false),
      default: schema.default,
      rule: schema.description,
      validate: this.#validator('all', declared),
    };
  }

  #bodyOf(template: string, body: JsonObject, isCreation: boolean): object {
    const content = this.#resolve(body).content as Record<string, { schema: JsonObject }>;
    const { 'application/json': json, [JSON_LINES]: jsonLines } = content;
    if (!json) throw new Error(`a body of ${template} has no application/json`);
    const schema = this.#resolve(json.schema);
    const lines = jsonLines && this.#resolve(jsonLines.schema);
    const validators = (of: JsonObject) => ({
      validate: this.#validator('first', of),
      validateFully: this.#validator('all', of),
    });
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonObject>);
    const refs = isCreation ? [IGNORED] : [IGNORED, ...OF_CREATIONS];
    const ignored = properties.filter(([, { $ref }]) => refs.includes(String($ref)));
    const members = properties.filter((each) => !ignored.includes(each));
    return {
      ...validators(schema),
      types: Object.keys(content),
      members: members.map(([name]) => name),
      ignored: ignored.map(([name]) => name),
      // JSON has no undefined, so only optional members remain.
      defaults: Object.fromEntries(
        members.map(([name, each]) => [name, this.#merge(each).default]),
      ),
      lines: lines && { ...validators(lines), maxItems: lines.maxItems },
    };
  }

  /** One example of each problem has its `x-remedy`, and it or its response the meaning. */
  #problemsOf(): Json[] {
    const found = new Map<string, JsonObject>();
    for (const response of Object.values(this.#find('/components/responses'))) {
      const { content, description } = response as JsonObject;
      const { examples = {} } = ((content ?? {}) as Record<string, JsonObject>)[PROBLEM_JSON] ?? {};
      for (const each of Object.values(examples as Record<string, JsonObject>)) {
        const { value, 'x-remedy': remedy, description: meaning = description } = each;
        const { type, status, title } = value as JsonObject;
        const slug = String(type).replace(/^.*\//, '');
        if (remedy === undefined) continue;
        found.set(slug, { slug, status, title, meaning, remedy, example: value } as JsonObject);
      }
    }
    return Object.keys(PROBLEM_STATUS).flatMap((slug) => found.get(slug) ?? []);
  }

  #merge(schema: JsonObject): JsonObject {
    const { $ref } = schema;
    return typeof $ref === 'string' ? { ...this.#merge(this.#find($ref)), ...schema } : schema;
  }

  #resolve(found: JsonObject): JsonObject {
    return typeof found.$ref === 'string' ? this.#resolve(this.#find(found.$ref)) : found;
  }

  /** Returns the object at a JSON Pointer; whatever is before its first slash does not matter. */
  #find(pointer: string): JsonObject {
    let found: JsonObject | undefined = this.#document;
    for (const name of pointer.split('/').slice(1)) found = found?.[name] as JsonObject | undefined;
    if (!found) throw new Error(`the contract has nothing at ${pointer}`);
    return found;
  }
}

/** Returns a value as source; the texts of `#validator` become expressions. */
function withExpressions(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/"validator:(\w+\.\w+)"/g, '$1');
}
