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

const found = (isFound: (place: Json, pointer: string) => boolean): string[] =>
  places.filter(([pointer, place]) => isFound(place, pointer)).map(([pointer]) => pointer);

test('generators: no value of an enumeration is empty, because constants are named by it', () => {
  const enumerations = places.flatMap(([, place]) => (Array.isArray(place.enum) ? [place] : []));
  assert.ok(enumerations.length > 10);
  assert.deepEqual(
    enumerations.filter((place) => (place.enum as unknown[]).includes('')),
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

test('generators: no value of an answer is a number that is always the same', () => {
  const constants = found((place) => place.type === 'integer' && 'const' in place);
  assert.deepEqual(constants, []);
});

test('generators: no value has a choice of schemas that exclude each other', () => {
  assert.deepEqual(
    found(({ oneOf }) => oneOf !== undefined),
    [],
  );
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
  assert.equal(lists.length, 4);
  for (const target of lists)
    assert.deepEqual((at(target) as Json).type, ['array', 'null'], target);
});

test('generators: an answer with members beyond those declared says so', () => {
  assert.equal((at('/components/schemas/OpenapiDocument') as Json).additionalProperties, true);
});
