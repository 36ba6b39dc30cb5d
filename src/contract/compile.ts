// A build step: makes validators out of schemas/openapi.json ahead of time, so that at run time no schema is compiled,
// no code is generated, and Ajv is not even installed.
import { readFile, writeFile } from 'node:fs/promises';
import { _ } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { build } from 'esbuild';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
type JsonObject = { [member: string]: Json };

const METHODS = ['get', 'post', 'put', 'delete'];
const CONTRACT_ID = 'contract';

/** The words of an OpenAPI document beside which its schemas stand; strict mode wants to know them. */
const DOCUMENT_WORDS = ['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components'];

/**
 * Reads the contract at `contract` and writes the module that exports its operations with compiled validators to
 * `output`. Rejects if a schema is not strictly valid.
 */
export async function compileContract(contract: URL, output: URL): Promise<void> {
  const document = JSON.parse(await readFile(contract, 'utf8')) as JsonObject;
  const compiled = validatorsOf(document);
  const bundle = await build({
    stdin: { contents: compiled, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    write: false,
    legalComments: 'inline',
  });
  await writeFile(output, bundle.outputFiles[0]?.contents ?? '');
}

/** The source of the module before its helpers are bundled: every schema twice, and the table that refers to them. */
function validatorsOf(document: JsonObject): string {
  const options = { strict: true, code: { source: true, formats: _`formats` } };
  const ajvs = {
    first: new Ajv2020(options),
    all: new Ajv2020({ ...options, allErrors: true }),
  };
  const names = { first: new Map<string, string>(), all: new Map<string, string>() };
  for (const ajv of Object.values(ajvs)) {
    ajv.addVocabulary(DOCUMENT_WORDS);
    ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
    ajv.addSchema(document, CONTRACT_ID);
  }

  /** Registers the schema at a pointer into the document, and returns the expression that will be its validator. */
  function validator(mode: 'first' | 'all', pointer: string): string {
    const name = names[mode].get(pointer) ?? `schema${names[mode].size}`;
    if (!names[mode].has(pointer)) ajvs[mode].addSchema({ $ref: `${CONTRACT_ID}#${pointer}` }, name);
    names[mode].set(pointer, name);
    return `${mode}.${name}`;
  }

  const operations = Object.entries(document.paths as Record<string, JsonObject>).flatMap(([template, item]) =>
    METHODS.filter((method) => method in item).map((method) => {
      const operation = item[method] as JsonObject;
      const at = `/paths/${escapePointer(template)}`;
      const parameters = [
        ...parametersOf(document, item.parameters, `${at}/parameters`),
        ...parametersOf(document, operation.parameters, `${at}/${method}/parameters`),
      ].map(({ name, place, schema, pointer }) =>
        literal({
          name: JSON.stringify(name),
          in: JSON.stringify(place),
          isInteger: JSON.stringify(schema.type === 'integer'),
          default: JSON.stringify(schema.default),
          validate: validator('all', pointer),
        }),
      );
      return literal({
        id: JSON.stringify(operation.operationId),
        method: JSON.stringify(method.toUpperCase()),
        template: JSON.stringify(template),
        parameters: `[${parameters.join(', ')}]`,
        body: operation.requestBody && bodyOf(`${at}/${method}/requestBody`),
      });
    }),
  );

  function bodyOf(at: string): string {
    const [body, bodyPointer] = resolve(document, at);
    const media = (body.content as Record<string, JsonObject>)['application/json'];
    if (!media) throw new Error(`${bodyPointer} has no application/json`);
    const [schema, pointer] = resolve(document, `${bodyPointer}/content/application~1json/schema`);
    const members = Object.keys((schema.properties ?? {}) as JsonObject);
    const defaults = members.flatMap((name) => {
      const member = (schema.properties as Record<string, JsonObject>)[name];
      return member?.default === undefined ? [] : [[name, member.default]];
    });
    return literal({
      first: validator('first', pointer),
      all: validator('all', pointer),
      defaults: JSON.stringify(Object.fromEntries(defaults)),
    });
  }

  return [
    `const formats = { 'well-formed': (text) => text.isWellFormed() };`,
    ...(['first', 'all'] as const).map((mode) => {
      const code = standalone.default(
        ajvs[mode],
        Object.fromEntries([...names[mode].values()].map((name) => [name, name])),
      );
      return `const ${mode} = ((exports) => {\n${code}\nreturn exports;\n})({});`;
    }),
    `export const operations = [\n${operations.join(',\n')}\n];`,
  ].join('\n');
}

interface FoundParameter {
  readonly name: Json | undefined;
  readonly place: Json | undefined;
  readonly schema: JsonObject;
  readonly pointer: string;
}

function parametersOf(document: JsonObject, list: Json | undefined, at: string): FoundParameter[] {
  return ((list ?? []) as JsonObject[]).map((_item, index) => {
    const [parameter, parameterPointer] = resolve(document, `${at}/${index}`);
    const pointer = `${parameterPointer}/schema`;
    const [target] = resolve(document, pointer);
    // A default may stand beside the reference to the schema it belongs to.
    const schema = { ...target, ...(parameter.schema as JsonObject) };
    return { name: parameter.name, place: parameter.in, schema, pointer };
  });
}

/** Follows `pointer`, and the references found there, to an object; returns it with the pointer of its own place. */
function resolve(document: JsonObject, pointer: string): [JsonObject, string] {
  const found = pointer
    .split('/')
    .slice(1)
    .reduce<Json | undefined>(
      (value, segment) => (value as JsonObject)?.[segment.replaceAll('~1', '/').replaceAll('~0', '~')],
      document,
    ) as JsonObject | undefined;
  if (!found) throw new Error(`the contract has nothing at ${pointer}`);
  return typeof found.$ref === 'string' ? resolve(document, found.$ref.slice(1)) : [found, pointer];
}

function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The source of an object literal; members without a value are left out. */
function literal(members: Readonly<Record<string, Json | undefined>>): string {
  const present = Object.entries(members).filter(([, source]) => source !== undefined);
  return `{ ${present.map(([name, source]) => `${name}: ${source}`).join(', ')} }`;
}
