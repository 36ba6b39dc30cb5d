// People copy the examples of the contract: each fits its schema.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, contract, resolve, validatorAt } from '../support/contract.ts';

interface Example {
  readonly pointer: string;
  readonly schema: string;
  readonly value: unknown;
}

const examples = [...examplesBelow('')];

/** Finds examples in all forms: one or named ones beside a `schema`, and lists inside one. */
function* examplesBelow(pointer: string): Generator<Example> {
  const place = at(pointer);
  if (typeof place !== 'object' || place === null) return;
  for (const [name, member] of Object.entries(place)) {
    const below = `${pointer}/${name.replaceAll('/', '~1')}`;
    if (name === 'examples' && Array.isArray(member)) {
      for (const value of member) yield { pointer: below, schema: pointer, value };
    } else if (name === 'example' && 'schema' in place) {
      yield { pointer: below, schema: `${pointer}/schema`, value: member };
    } else if (name === 'examples' && 'schema' in place) {
      for (const each of Object.keys(member)) {
        const { value } = at(resolve(`${below}/${each}`) ?? '') as { value: unknown };
        yield { pointer: `${below}/${each}`, schema: `${pointer}/schema`, value };
      }
    } else {
      yield* examplesBelow(below);
    }
  }
}

test('examples: each fits its schema', () => {
  assert.ok(examples.length > 90, String(examples.length));
  for (const { pointer, schema, value } of examples) {
    const validate = validatorAt(schema);
    assert.ok(validate(value), `${pointer}: ${JSON.stringify(validate.errors)}`);
  }
});

test('examples: each default fits its schema', () => {
  let defaults = 0;
  const check = (pointer: string) => {
    const place = at(pointer);
    if (typeof place !== 'object' || place === null) return;
    if ('default' in place && '$ref' in place) {
      assert.ok(validatorAt(pointer)(place.default), pointer);
      defaults += 1;
    }
    for (const name of Object.keys(place)) check(`${pointer}/${name.replaceAll('/', '~1')}`);
  };
  check('/components');
  assert.ok(defaults >= 5, String(defaults));
});

test('examples: each body has one', () => {
  const contents = Object.values(contract.paths).flatMap((item) =>
    Object.values(
      item as Record<string, { requestBody?: object; responses?: Record<string, object> }>,
    ).flatMap(({ requestBody, responses = {} }) =>
      [requestBody, ...Object.values(responses)].filter((each) => each !== undefined),
    ),
  );
  assert.ok(contents.length > 100);
  for (const each of contents) {
    const target = '$ref' in each ? at(String(each.$ref).slice(1)) : each;
    const { content = {} } = target as { content?: Record<string, { examples?: object }> };
    for (const media of Object.values(content))
      assert.ok(Object.keys(media.examples ?? {}).length > 0);
  }
});
