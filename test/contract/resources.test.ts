// The contract and src/resources/ declare the same fields (types, defaults, required members) and
// the same filters of lists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../src/contract/generated.js';
import { notes } from '../../src/resources/notes.ts';
import { rowColumnsOf } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { at, resolve } from '../support/contract.ts';

interface Schema {
  readonly type?: string;
  readonly required?: readonly string[];
}

const COMMON = [
  ...['order', 'limit', 'offset', 'after', 'before', 'q', 'fields', 'include'],
  ...['created_after', 'created_before', 'updated_after', 'updated_before'],
];

const TYPES = { text: 'string', integer: 'integer', boolean: 'boolean' };

for (const resource of RESOURCES) {
  const { label, path, idParameter, fields, filters = [] } = resource;

  test(`resources: the filters of ${label} are those of GET ${path}`, () => {
    const list = operations.find((each) => each.method === 'GET' && each.template === path);
    const inQuery = list?.parameters.filter((each) => each.in === 'query') ?? [];
    const ofTags = resource === notes ? ['tag_id', 'tag', 'untagged'] : [];
    assert.deepEqual(
      inQuery.map(({ name }) => name).filter((name) => !COMMON.includes(name)),
      [...filters, ...ofTags],
    );
  });

  test(`resources: the fields of ${label} can be chosen in its list and in /changes`, () => {
    const chosenAt = (name: string) =>
      (at(`/components/parameters/${name}Fields/schema`) as { items: { enum: string[] } }).items
        .enum;
    const own = rowColumnsOf(resource);
    assert.deepEqual(chosenAt(label), own);
    assert.deepEqual(
      own.filter((name) => !chosenAt('Changes').includes(name)),
      [],
    );
  });

  for (const [method, template] of [
    ['POST', path],
    ['PUT', `${path}/{${idParameter}}`],
    ['PATCH', `${path}/{${idParameter}}`],
  ] as const) {
    test(`resources: the fields of ${label} are those of ${method} ${template}`, () => {
      const operation = operations.find(
        (each) => each.method === method && each.template === template,
      );
      assert.ok(operation, `the contract has no ${method} ${template}`);
      const pointer = `/paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}`;
      const body = resolve(`${pointer}/requestBody`);
      const place = resolve(`${body}/content/application~1json/schema`);
      const { required = [] } = at(place ?? '') as Schema;
      const tagged = resource === notes ? ['tag_ids', 'tags'] : [];
      assert.deepEqual(operation.body?.members, Object.keys(fields).concat(tagged));
      for (const [name, { type, default: byDefault }] of Object.entries(fields)) {
        const schema = at(resolve(`${place}/properties/${name}`) ?? '') as Schema;
        assert.equal(schema.type, TYPES[type], `the type of ${name}`);
        const inContract: string = JSON.stringify(operation.body?.defaults[name]) ?? 'missing';
        // A patch must not replace what it does not contain.
        const wantedDefault = method === 'PATCH' ? undefined : byDefault;
        const inResource = JSON.stringify(wantedDefault) ?? 'missing';
        const message = `the default of ${name} is ${inContract} in the contract`;
        assert.equal(inContract, inResource, `${message}, ${inResource} in the resource`);
        const isRequired = method !== 'PATCH' && byDefault === undefined;
        const wanted = `${name} must ${isRequired ? '' : 'not '}be required in the contract`;
        assert.equal(required.includes(name), isRequired, wanted);
      }
    });
  }
}
