// Compiles the schemas of the contract into validators, so that the service does not need Ajv.
import { readFile, writeFile } from 'node:fs/promises';
import { _, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { useFunc } from 'ajv/dist/compile/util.js';
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
import standalone from 'ajv/dist/standalone/index.js';
import limitLength from 'ajv/dist/vocabularies/validation/limitLength.js';
import { build } from 'esbuild';
import { JSON_LINES } from '../http/body/media-type.ts';
import { PROBLEM_STATUS } from '../http/problem.ts';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
type JsonObject = { [member: string]: Json };
type Resolved = [found: JsonObject, pointer: string];

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const CONTRACT_ID = 'contract';
const PROBLEM_JSON = 'application/problem+json';

/** The top-level members of an OpenAPI document. Ajv's strict mode rejects unknown keywords. */
const DOCUMENT_KEYWORDS = ['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components'];

/** Compiles the contract into the module of generated.d.ts. Rejects if it has a mistake. */
export async function compileContract(contract: URL, output: URL): Promise<void> {
  const document = JSON.parse(await readFile(contract, 'utf8')) as JsonObject;
  const contents = new Contract(document).write();
  const bundle = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    write: false,
    legalComments: 'inline',
  });
  await writeFile(output, bundle.outputFiles[0]?.contents ?? '');
}

type Mode = 'first' | 'all';

/** Checks minLength or maxLength; counts code points, which is slow, only if that decides. */
function limitLengthCode(cxt: KeywordCxt): void {
  const { data, keyword, schemaCode: limit, gen } = cxt;
  const count = _`${useFunc(gen, ucs2length.default)}(${data})`;
  cxt.fail(
    keyword === 'maxLength'
      ? _`${data}.length > ${limit} && ${count} > ${limit}`
      : _`${data}.length < 2 * ${limit} && ${count} < ${limit}`,
  );
}

class Contract {
  readonly #document: JsonObject;
  readonly #ajvs: Readonly<Record<Mode, Ajv2020>>;
  /** The names of the schemas that need a validator, by their pointers. */
  readonly #names = { first: new Map<string, string>(), all: new Map<string, string>() };

  constructor(document: JsonObject) {
    this.#document = document;
    const options = { strict: true, code: { source: true, formats: _`formats` } };
    this.#ajvs = { first: new Ajv2020(options), all: new Ajv2020({ ...options, allErrors: true }) };
    for (const ajv of Object.values(this.#ajvs)) {
      ajv.addVocabulary(DOCUMENT_KEYWORDS);
      ajv.removeKeyword('maxLength').removeKeyword('minLength');
      ajv.addKeyword({ ...limitLength.default, code: limitLengthCode, before: 'pattern' });
      ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
      // This format is for code generators; the bounds say which integers are accepted.
      ajv.addFormat('int64', true);
      ajv.addSchema(document, CONTRACT_ID);
    }
  }

  #validator(mode: Mode, pointer: string): string {
    const names = this.#names[mode];
    const name = names.get(pointer) ?? `schema${names.size}`;
    if (!names.has(pointer)) {
      this.#ajvs[mode].addSchema({ $ref: `${CONTRACT_ID}#${pointer}` }, name);
      names.set(pointer, name);
    }
    return `validator:${mode}.${name}`;
  }

  #declaration(mode: Mode): string {
    const names = [...this.#names[mode].values()].map((name) => [name, name]);
    const code = standalone.default(this.#ajvs[mode], Object.fromEntries(names));
    return `const ${mode} = ((exports) => {\n${code}\nreturn exports;\n})({});`;
  }

  write(): string {
    const paths = Object.entries(this.#document.paths as Record<string, JsonObject>);
    const operations = paths.flatMap(([template, item]) => {
      const methods = METHODS.filter((method) => method in item);
      return methods.map((method) => this.#operationOf(template, method));
    });
    const search = this.#find('/components/parameters/SearchText');
    const snippet = this.#find('/components/schemas/Snippet/properties/text');
    return [
      `const formats = { 'well-formed': (text) => text.isWellFormed() };`,
      this.#declaration('first'),
      this.#declaration('all'),
      `export const operations = ${withExpressions(operations)};`,
      `export const MAX_SNIPPET_LENGTH = ${snippet.maxLength};`,
      `export const QUERY_BOUNDS = ${JSON.stringify(search['x-bounds'])};`,
      `export const problems = ${JSON.stringify(this.#problemsOf())};`,
    ].join('\n');
  }

  #operationOf(template: string, method: string): object {
    const path = `/paths/${escapePointer(template)}`;
    const pointer = `${path}/${method}`;
    const { operationId: id, requestBody } = this.#find(pointer);
    const parameters: object[] = [];
    const headers: object[] = [];
    for (const at of [path, pointer]) {
      const { length } = (this.#find(at).parameters ?? []) as Json[];
      for (let index = 0; index < length; index += 1) {
        const found = this.#resolve(`${at}/parameters/${index}`);
        if (found[0].in === 'header') headers.push(this.#headerOf(template, found));
        else parameters.push(this.#parameterOf(template, found));
      }
    }
    const body = requestBody && this.#bodyOf(`${pointer}/requestBody`);
    return { id, method: method.toUpperCase(), template, parameters, headers, body };
  }

  #headerOf(template: string, [{ name, required, schema }, at]: Resolved): object {
    if (required) throw new Error(`the header ${name} of ${template} must not be required`);
    const { description: rule } = schema as JsonObject;
    return { name, rule, validate: this.#validator('first', `${at}/schema`) };
  }

  #parameterOf(template: string, [{ name, in: place, required, explode }, at]: Resolved): object {
    const pointer = `${at}/schema`;
    const schema = this.#schemaAt(pointer);
    const isList = schema.type === 'array';
    const { type } = isList ? this.#schemaAt(`${pointer}/items`) : schema;
    // The service parses no other types, reads no other places and requires nothing in a query.
    const label = `the parameter ${name} of ${template}`;
    if (type !== 'integer' && type !== 'string')
      throw new Error(`${label} must be of type integer or string, or an array of these`);
    if (place !== 'path' && (place !== 'query' || required))
      throw new Error(`${label} must be in the path, or in the query without "required"`);
    return {
      name,
      in: place,
      isInteger: type === 'integer',
      list: isList ? (explode === false ? 'commas' : 'repeated') : undefined,
      default: schema.default,
      validate: this.#validator('all', pointer),
    };
  }

  #bodyOf(at: string): object {
    const [body, pointer] = this.#resolve(at);
    const content = body.content as JsonObject;
    if (!('application/json' in content)) throw new Error(`${pointer} has no application/json`);
    const schemaOf = (type: string) =>
      this.#resolve(`${pointer}/content/${escapePointer(type)}/schema`);
    const schemas = (at: string) => ({
      validate: this.#validator('first', at),
      validateFully: this.#validator('all', at),
    });
    const [schema, schemaPointer] = schemaOf('application/json');
    const members = Object.keys(schema.properties ?? {});
    const defaultOf = (name: string) =>
      this.#schemaAt(`${schemaPointer}/properties/${name}`).default;
    // JSON has no undefined, so only optional members remain.
    const defaults = Object.fromEntries(members.map((name) => [name, defaultOf(name)]));
    const [lines, linesPointer] = JSON_LINES in content ? schemaOf(JSON_LINES) : [];
    return {
      ...schemas(schemaPointer),
      types: Object.keys(content),
      members,
      defaults,
      lines: linesPointer && { ...schemas(linesPointer), maxItems: lines?.maxItems },
    };
  }

  /** One example of each problem has its `x-remedy`, and it or its response the meaning. */
  #problemsOf(): Json[] {
    const found = new Map<string, JsonObject>();
    for (const [name, response] of Object.entries(this.#find('/components/responses'))) {
      const { content, description } = response as JsonObject;
      const { examples = {} } = ((content ?? {}) as Record<string, JsonObject>)[PROBLEM_JSON] ?? {};
      for (const each of Object.values(examples as Record<string, JsonObject>)) {
        const { value, 'x-remedy': remedy, description: meaning = description } = each;
        const { type, status, title } = value as JsonObject;
        const slug = String(type).replace(/^.*\//, '');
        if (Object(PROBLEM_STATUS)[slug] !== status)
          throw new Error(`http/problem.ts has no problem ${slug} with the status ${status}`);
        if (remedy === undefined) continue;
        if (found.has(slug)) throw new Error(`${name} has another x-remedy of the problem ${slug}`);
        found.set(slug, { slug, status, title, meaning, remedy, example: value } as JsonObject);
      }
    }
    return Object.keys(PROBLEM_STATUS).map((slug) => {
      const problem = found.get(slug);
      if (!problem) throw new Error(`the contract has no example with x-remedy of ${slug}`);
      return problem;
    });
  }

  /** Returns the schema at `pointer`, after following references, with the members beside them. */
  #schemaAt(pointer: string): JsonObject {
    return { ...this.#resolve(pointer)[0], ...this.#find(pointer) };
  }

  /** Returns the object at `pointer`, after following references, with its own pointer. */
  #resolve(pointer: string): Resolved {
    const found = this.#find(pointer);
    return typeof found.$ref === 'string' ? this.#resolve(found.$ref.slice(1)) : [found, pointer];
  }

  #find(pointer: string): JsonObject {
    let found: JsonObject | undefined = this.#document;
    for (const segment of pointer.split('/').slice(1)) {
      const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
      found = found?.[name] as JsonObject | undefined;
    }
    if (!found) throw new Error(`the contract has nothing at ${pointer}`);
    return found;
  }
}

/** Returns a value as source; the texts of `#validator` become expressions. */
function withExpressions(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/"validator:(\w+\.\w+)"/g, '$1');
}

function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}
