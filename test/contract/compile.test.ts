// The compiled contract decides as a fresh compilation of schemas/openapi.json would, and needs
// neither Ajv nor code generation at run time.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ErrorObject } from 'ajv';
import { compileContract } from '../../src/build/contract.ts';
import { operations, type SchemaError, type Validate } from '../../src/contract/generated.js';
import { at, IGNORED, resolve, validatorAt } from '../support/contract.ts';
import { temporaryFolder } from '../support/engine.ts';
import { root } from '../support/sources.ts';

const CONTRACT = new URL('schemas/openapi.json', root);
const BUILT = new URL('dist/src/', root);

test('compiled contract: that of schemas/openapi.json', async (t) => {
  const output = pathToFileURL(`${temporaryFolder(t)}/`);
  await compileContract(CONTRACT, output);
  for (const path of ['contract/generated.js', 'assistants/generated.js']) {
    const [made, built] = [output, BUILT].map((folder) => readFileSync(new URL(path, folder)));
    assert.ok(built && made?.equals(built), `${path} has changed since npm run build`);
  }
});

test('compiled contract: a contract with a mistake is refused', async (t) => {
  const folder = temporaryFolder(t);
  // Some paths are enough, and compile sooner.
  const { paths, ...rest } = JSON.parse(readFileSync(CONTRACT, 'utf8'));
  const text = JSON.stringify({
    ...rest,
    paths: { '/notes': paths['/notes'], '/tags': paths['/tags'], '/pool/run': paths['/pool/run'] },
  });
  const mistakes = [
    ['"maxLength":500', '"maxLenght":500', /"maxLenght"/],
    ['"maxItems":500', '"maxItems":"500"', /maxItems must be integer/],
    ['#/components/schemas/TagName"', '#/components/schemas/Nowhere"', /schemas\/Nowhere/],
    ['"format":"well-formed"', '"format":"wellformed"', /"wellformed"/],
    [
      '"application/json":{"schema":{"$ref":"#/components/schemas/NoteInput"',
      '"text/json":{"schema":{"$ref":"#/components/schemas/NoteInput"',
      /a body of \/notes has no application\/json/,
    ],
  ] as const;
  for (const [right, wrong, reason] of mistakes) {
    assert.ok(text.includes(right));
    const input = pathToFileURL(join(folder, 'openapi.json'));
    writeFileSync(input, text.replaceAll(right, wrong));
    const output = pathToFileURL(join(folder, 'out/'));
    await assert.rejects(compileContract(input, output), reason);
  }
});

test('compiled contract: no imports and no code from strings', () => {
  const text = readFileSync(new URL('contract/generated.js', BUILT), 'utf8');
  // Ajv leaves the origin of its helper as a string that is never evaluated.
  const code = text.replace(/\.code = '[^']*';/g, '');
  assert.doesNotMatch(code, /\brequire\(|\bnew Function\b|\beval\(|^import\b|\bimport\(/m);
});

interface Schema {
  readonly type?: string;
  readonly properties?: object;
  readonly additionalProperties?: boolean;
}

/** Values that schemas refuse for different reasons, or accept. */
const VALUES = [
  ...[null, true, -1, 0, 1, 9, 4.5, 1e6, '', ' ', '\u00a0', 'a', '4', '👋', '\ud800', 'a\udc00b'],
  ...['x'.repeat(300), '👋'.repeat(600), 'x'.repeat(200_000), '2026-02-30T00:00:00Z'],
];

/** Returns values for a schema; those for an object give each member the same value. */
function valuesFor(pointer: string): unknown[] {
  const { properties = {} } = at(resolve(pointer) ?? '') as Schema;
  // Any value fits the members that only answers have.
  const names = Object.keys(properties).filter(
    (name) => resolve(`${resolve(pointer)}/properties/${name}`) !== IGNORED,
  );
  const listed = [...VALUES, ...VALUES.map((value) => [value]), [1, 2], [1, 1], ['a', 'a'], {}];
  const lists = [[], Array(600).fill(1), Array.from({ length: 60 }, (_, index) => index + 1)];
  return [...listed, ...lists].flatMap((value) => [
    value,
    Object.fromEntries(names.map((name) => [name, value])),
  ]);
}

const checked = new Set<Validate>();

/** Asserts that compiled validators decide and explain as a fresh compilation of the schema. */
function assertAgreement(
  pointer: string,
  { validate, validateFully }: { validate?: Validate; validateFully: Validate },
  label: string,
): void {
  // Operations share validators.
  if (checked.has(validateFully)) return;
  checked.add(validateFully);
  const fresh = validatorAt(pointer);
  const decisions = new Set<boolean>();
  for (const value of valuesFor(pointer)) {
    const fits = fresh(value);
    decisions.add(fits);
    assert.equal(validateFully(value), fits, label);
    if (isOfName(validateFully)) continue;
    assert.deepEqual(explained(validateFully.errors), explained(fresh.errors), label);
    if (!validate) continue;
    assert.equal(validate(value), fits, label);
    assert.ok(fits || explained(fresh.errors).includes(explained(validate.errors)[0] ?? ''));
  }
  assert.ok(decisions.has(false), label);
}

function explained(errors: readonly (SchemaError | ErrorObject)[] | null | undefined): string[] {
  return (errors ?? []).map(({ instancePath, keyword, params, message }) =>
    JSON.stringify([instancePath, keyword, params, message]),
  );
}

/** Whether a name is refused, which has explanations of its own. */
function isOfName({ errors }: Validate): boolean {
  return errors?.some(({ keyword }) => keyword === 'x-note-name') ?? false;
}

interface DeclaredParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly default?: number | string };
}

function parametersAt(path: string, method: string): string[] {
  return [`${path}/parameters`, `${path}/${method}/parameters`].flatMap((list) =>
    ((at(list) ?? []) as object[]).map((_, index) => resolve(`${list}/${index}`) ?? ''),
  );
}

for (const { id, method, template, parameters, headers, body } of operations) {
  const path = `/paths/${template.replaceAll('/', '~1')}`;
  const all = parametersAt(path, method.toLowerCase());
  if (!body && all.length === 0) continue;
  const isHeader = (pointer: string) => (at(pointer) as DeclaredParameter).in === 'header';
  const pointers = all.filter((pointer) => !isHeader(pointer));

  test(`compiled contract: ${id} decides as a fresh compilation`, () => {
    for (const pointer of all) {
      const { in: place, required = false } = at(pointer) as DeclaredParameter;
      assert.ok(['path', 'query', 'header'].includes(place), 'the service reads no other place');
      assert.equal(required, place === 'path', 'the service requires nothing else');
    }
    const inHeaders = all
      .filter(isHeader)
      .map((pointer) => (at(pointer) as DeclaredParameter).name);
    assert.deepEqual(
      headers.map(({ name }) => name),
      inHeaders,
    );
    assert.equal(parameters.length, pointers.length);
    for (const { name, in: place, isInteger, validate, default: byDefault } of parameters) {
      const isIt = (each: DeclaredParameter) => each.name === name && each.in === place;
      const pointer = pointers.find((each) => isIt(at(each) as DeclaredParameter)) ?? '';
      const schema = `${pointer}/schema`;
      const { type } = at(resolve(`${resolve(schema)}/items`) ?? resolve(schema) ?? '') as Schema;
      assert.equal(byDefault, (at(pointer) as DeclaredParameter).schema.default);
      assert.equal(isInteger ? 'integer' : 'string', type, 'the service parses no other type');
      assertAgreement(schema, { validateFully: validate }, `${id} ${name}`);
    }
    const content = `${resolve(`${path}/${method.toLowerCase()}/requestBody`)}/content`;
    const schema = resolve(`${content}/application~1json/schema`);
    // The protocol for assistants has members and errors of its own.
    const isOpen = id === 'callTool';
    if (schema) assert.equal((at(schema) as Schema).additionalProperties, isOpen, 'checks names');
    if (body) assertAgreement(`${content}/application~1json/schema`, body, id);
    if (body?.lines) assertAgreement(`${content}/application~1x-ndjson/schema`, body.lines, id);
  });
}
