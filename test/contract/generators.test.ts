// What some code generators, or the clients that they generate, cannot cope with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, contract, IGNORED, resolve } from '../support/contract.ts';

type Json = Readonly<Record<string, unknown>>;

/** All objects of the contract with their pointers, without the values of examples. */
const places = [...placesBelow('')];

function* placesBelow(pointer: string): Generator<readonly [pointer: string, place: Json]> {
  const place = pointer === '' ? contract : at(pointer);
  if (typeof place !== 'object' || place === null) return;
  if (!Array.isArray(place)) yield [pointer, place as Json];
  for (const name of Object.keys(place))
    if (name !== 'value') yield* placesBelow(`${pointer}/${name.replaceAll('/', '~1')}`);
}

/** What must be nowhere, each with how to recognise it. */
const AVOIDED: Readonly<Record<string, (place: Json) => boolean>> = {
  'an empty value of an enumeration, because constants are named by it': (place) =>
    Object(place.enum).includes?.(''),
  'a value of an answer that is always the same number': (place) =>
    place.type === 'integer' && 'const' in place,
  'a choice of schemas that exclude each other': ({ oneOf }) => oneOf !== undefined,
  'a parameter that refers to the schema of another one': ({ in: place, schema }) =>
    place !== undefined && /\/parameters\//.test(Object(schema).$ref),
  'an escape in a pattern that PHP does not know': ({ pattern }) =>
    typeof pattern === 'string' && /\\[upPN]/.test(pattern),
};

for (const [what, isFound] of Object.entries(AVOIDED))
  test(`generators: there is not ${what}`, () => {
    const found = places.filter(([, place]) => isFound(place));
    assert.deepEqual(
      found.map(([pointer]) => pointer),
      [],
    );
  });

test('generators: a value whose name constants of some languages have already gets another', () => {
  const named = places.filter(([, { enum: values }]) => Object(values).includes?.('name'));
  assert.ok(named.length >= 2);
  for (const [pointer, { enum: values, 'x-enum-varnames': names }] of named) {
    assert.equal((names as string[]).length, (values as string[]).length, pointer);
    assert.ok(!(names as string[]).includes('name'), pointer);
  }
});

test('generators: JSON is the first media type of an answer, which gives it its type', () => {
  const contents = places.flatMap(([pointer, { content }]) =>
    /\/responses\//.test(pointer) && 'application/json' in Object(content)
      ? [[pointer, content as Json] as const]
      : [],
  );
  assert.ok(contents.length > 20);
  for (const [pointer, content] of contents)
    assert.equal(Object.keys(content)[0], 'application/json', pointer);
});

test('generators: an optional list in a body may be null, as some clients send it unset', () => {
  const inputs = Object.keys(at('/components/schemas') as Json).filter((name) =>
    /(?:Input|Patch)$/.test(name),
  );
  const lists = inputs.flatMap((name) => {
    const { properties = {}, required = [] } = at(`/components/schemas/${name}`) as {
      properties?: Json;
      required?: readonly string[];
    };
    const optional = Object.keys(properties).filter((member) => !required.includes(member));
    return optional
      .map((member) => resolve(`/components/schemas/${name}/properties/${member}`) ?? '')
      .filter((target) => target !== IGNORED && (at(target) as Json).items);
  });
  assert.equal(lists.length, 6);
  for (const target of lists)
    assert.deepEqual((at(target) as Json).type, ['array', 'null'], target);
});

test('generators: an answer with members beyond those declared says so', () => {
  assert.equal((at('/components/schemas/OpenapiDocument') as Json).additionalProperties, true);
});
