// Validates every answer that a test receives against the contract: status, headers and body.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { JSON_LINES } from '../../src/http/body/formats.ts';
import { PROBLEM_STATUS } from '../../src/http/problem.ts';
import type { Answer } from './http.ts';

type Json = Record<string, unknown>;

const text = readFileSync(new URL('../../../schemas/openapi.json', import.meta.url), 'utf8');

/** The pointer to the schema of members that only answers have; any value fits it. */
export const IGNORED = '/components/schemas/Ignored';

/** The contract, schemas/openapi.json. */
export const contract = JSON.parse(text) as Json & {
  tags: readonly { name: string; description: string }[];
  paths: Record<string, Json>;
  components: Record<string, Json>;
};

// The build has checked that the schemas are valid; compiling the meta-schema would only slow each
// file.
const ajv = new Ajv2020({
  strict: true,
  // A whole record requires members of the schema of its parts.
  strictRequired: false,
  allErrors: true,
  validateSchema: false,
});
formats.default(ajv);
ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components']);
for (const name of ['x-enum-varnames', 'x-note-name', 'x-whole']) ajv.addKeyword(name);
ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
ajv.addFormat('int64', true);
ajv.addSchema(JSON.parse(text, close), 'contract');

/** Closes a schema: clients accept unknown members of answers, but the service sends none. */
function close(name: string, value: Json): unknown {
  const isClosed = value?.type === 'object' && value.properties && name !== 'OpenapiDocument';
  return isClosed ? { additionalProperties: false, ...value } : value;
}

/** What to do next, in the detail of every 412. */
const NEXT_STEP = /\. (?:Read it again, apply your change|Leave out if-match|Send the tag without)/;

const validators = new Map<string, ValidateFunction>();

/** Returns the validator of the schema at a JSON pointer into the contract. */
export function validatorAt(pointer: string): ValidateFunction {
  const target = targetOf(pointer);
  const validate = validators.get(target) ?? ajv.compile({ $ref: `contract#${target}` });
  validators.set(target, validate);
  return validate;
}

/** Follows references, so that operations share the validators of their schemas. */
function targetOf(pointer: string): string {
  const { $ref, ...rest } = at(pointer) as { $ref?: string };
  return $ref && Object.keys(rest).length === 0 ? targetOf($ref.slice(1)) : pointer;
}

/** The problems of the default response, as examples of all their statuses. */
const defaultProblems = Object.values(
  at('/components/responses/ProblemResponse/content/application~1problem+json/examples') as object,
) as readonly { description: string; value: { status: number } }[];

/** The headers that the default response has with some statuses only. */
const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  405: ['allow'],
  429: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  503: ['retry-after'],
};

/** Asserts that the contract declares the answer to `method` and `path`, which may have a query. */
export function assertFitsContract(method: string, path: string, answer: Answer): void {
  const label = `${method} ${path.slice(0, 80)} -> ${answer.status}`;
  assert.match(String(answer.headers['x-request-id']), /^[A-Za-z0-9._-]{1,128}$/, label);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff', label);
  if (answer.status >= 400) assertError(method, answer, label);
  if (answer.status === 204 || answer.status === 304) assert.equal(answer.bytes.length, 0, label);
  else if (path !== '/export' || answer.status !== 200)
    assert.ok(answer.headers['content-length'] !== undefined, `${label}: no content-length`);
  if (method === 'OPTIONS' && answer.status === 204) {
    assert.ok(answer.headers.allow, label);
    return;
  }
  const operation = operationOf(method === 'HEAD' ? 'get' : method.toLowerCase(), path);
  if (!operation) {
    assert.ok(answer.status >= 400, `${label}: the contract has no such operation`);
    // Browsers get a page.
    const isPage =
      method === 'GET' && answer.headers['content-type'] === 'text/html; charset=utf-8';
    if (method !== 'HEAD' && !isPage)
      assertValid('/components/schemas/Problem', JSON.parse(answer.text), label);
    return;
  }
  const pointer = responseAt(operation, answer.status);
  assert.ok(pointer, `${label}: the contract does not declare this status`);
  const declared = at(pointer) as { headers?: Json; content?: Json };
  for (const name of Object.keys(declared.headers ?? {})) {
    assertHeader(`${pointer}/headers/${name}`, name, answer, label);
  }
  if (method !== 'HEAD') assertBody(pointer, declared.content, answer, label);
}

/** Asserts what all errors have in common, and that a problem's type, title and status agree. */
function assertError(method: string, { status, headers, text }: Answer, label: string): void {
  assert.equal(headers['cache-control'], 'no-store', label);
  for (const name of HEADERS_BY_STATUS[status] ?? []) {
    assert.ok(headers[name] !== undefined, `${label}: header ${name} is missing`);
  }
  if (method === 'HEAD' || headers['content-type'] !== 'application/problem+json') return;
  const problem = JSON.parse(text);
  const slug = problem.type.slice(problem.type.lastIndexOf('/') + 1);
  assert.equal(Object(PROBLEM_STATUS)[slug], status, `${label}: ${problem.type}`);
  assert.deepEqual([problem.title, problem.status], [STATUS_CODES[status], status], label);
  if (status === 412) assert.match(problem.detail, NEXT_STEP, label);
}

/** Returns the pointer to the response of an operation; the default is for its problems only. */
function responseAt(operation: string, status: number): string | undefined {
  const { security } = at(operation) as { security?: readonly object[] };
  const isCommon =
    defaultProblems.some(({ value }) => value.status === status) &&
    (status !== 401 || security?.length !== 0);
  const own = resolve(`${operation}/responses/${status}`);
  return own ?? (isCommon ? resolve(`${operation}/responses/default`) : undefined);
}

function assertHeader(pointer: string, name: string, { headers }: Answer, label: string): void {
  const place = resolve(pointer) ?? '';
  const { required } = at(place) as { required?: boolean };
  const value = headers[name];
  if (value === undefined) {
    assert.ok(!required, `${label}: header ${name} is missing`);
    return;
  }
  const schema = resolve(`${place}/schema`) ?? '';
  const isInteger = (at(schema) as Json).type === 'integer';
  assertValid(schema, isInteger ? Number(value) : value, `${label}: header ${name}`);
}

function assertBody(pointer: string, content: Json | undefined, answer: Answer, label: string) {
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  if (!content) {
    assert.equal(answer.bytes.length, 0, `${label}: the contract declares no body`);
    return;
  }
  assert.ok(type in content, `${label}: the contract does not declare the media type ${type}`);
  const schema = `${pointer}/content/${type.replaceAll('/', '~1')}/schema`;
  if (type === JSON_LINES && (at(schema) as Json).type === 'array') {
    const lines = answer.text.split('\n');
    assert.equal(lines.pop(), '', `${label}: the last line has no end`);
    assertValid(
      schema,
      lines.map((line) => JSON.parse(line)),
      label,
    );
  }
  if (!/[/+]json$/.test(type) || answer.headers['content-encoding']) return;
  assertValid(schema, answer.json, label);
}

function assertValid(pointer: string, value: unknown, label: string): void {
  const validate = validatorAt(pointer);
  assert.ok(validate(value), `${label}: ${ajv.errorsText(validate.errors)}`);
}

/** The templates with their patterns. One without parameters wins over one with them. */
const templates = Object.keys(contract.paths)
  .sort((one, other) => one.split('{').length - other.split('{').length)
  .map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace('{name}', '.*').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

/** Returns the pointer to the operation; that of a name may be behind a part of the name. */
function operationOf(method: string, path: string): string | undefined {
  const pathname = path.replace(/\?.*/s, '').replace(/(?<=\/named\/.*)%2f/gi, '/');
  return templates
    .filter(({ pattern }) => pattern.test(pathname))
    .map(({ template }) => `/paths/${template.replaceAll('/', '~1')}/${method}`)
    .find((pointer) => at(pointer) !== undefined);
}

/** Returns what is at a JSON pointer into the contract. */
export function at(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, segment) => (value as Json | undefined)?.[segment.replaceAll('~1', '/')],
      contract,
    );
}

/** Returns `pointer`, or where the reference at it leads. */
export function resolve(pointer: string): string | undefined {
  const found = at(pointer) as { $ref?: string } | undefined;
  if (found?.$ref) return resolve(found.$ref.slice(1));
  return found && pointer;
}
