// The contract and src/resources/ declare the same fields (types, defaults, required members) and
// the same filters of lists. The order of parameters and members does not matter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../src/contract/generated.js';
import { notes } from '../../src/resources/notes.ts';
import { type Resource, rowColumnsOf } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { at, resolve } from '../support/contract.ts';
import { listsOf } from '../support/tables.ts';

interface Schema {
  readonly type?: string;
  readonly required?: readonly string[];
}

/** A parameter with several names. */
interface Names {
  readonly items: { readonly enum: readonly string[] };
  readonly maxItems: number;
}

/** The parameters of lists that are no filters. */
const OTHERS = [
  ...['order', 'limit', 'offset', 'fields', 'include'],
  ...['after', 'before', 'after_name', 'before_name'],
];

/** Returns the names of the parameters that the filters of a resource read from a query. */
function filterNamesOf(resource: Resource): string[] {
  const read = new Set<string>();
  const parameters = new Proxy({}, { get: (_, name) => void read.add(String(name)) });
  for (const { value } of Object.values(listsOf(resource).filters)) value(parameters);
  // The path of the tags on a note has its id. An order by name selects the notes that have one.
  for (const name of [notes.idParameter, 'order']) read.delete(name);
  return [...read].sort();
}

const TYPES = { text: 'string', integer: 'integer', boolean: 'boolean' };

for (const resource of RESOURCES) {
  const { label, path, idParameter, fields, search } = resource;
  const { counterpart: other, members, computed, orders } = listsOf(resource);

  for (const template of other ? [path, `${other.path}/{${other.idParameter}}${path}`] : [path])
    test(`resources: the filters of ${label} are parameters of GET ${template}`, () => {
      const list = operations.find((each) => each.method === 'GET' && each.template === template);
      const names = list?.queryNames?.filter((name) => !OTHERS.includes(name)) ?? [];
      assert.deepEqual(names.sort(), filterNamesOf(resource));
    });

  for (const [name, added] of [
    // The characters of a body are counted after a single note is read.
    [`${label}Include`, resource.label === 'Note' ? { ...members, characters: [] } : members],
    ...(computed
      ? [[`${label}ListInclude`, { ...members, [computed.name]: computed }] as const]
      : []),
  ] as const)
    test(`resources: what ${name} adds to ${label} is declared`, () => {
      const schema = at(`/components/parameters/${name}/schema`) as Names;
      const names = Object.keys(added).sort();
      assert.deepEqual([...schema.items.enum].sort(), names);
      assert.equal(schema.maxItems, names.length);
    });

  test(`resources: the orders of ${label} are those of GET ${path}`, () => {
    const name = search ? `${label}Order` : 'Order';
    const { enum: names } = at(`/components/parameters/${name}/schema`) as Names['items'];
    assert.deepEqual([...names].sort(), Object.keys(orders).sort());
  });

  test(`resources: the fields of ${label} can be chosen in its list and in /changes`, () => {
    const chosenAt = (name: string) => {
      const { items, maxItems } = at(`/components/parameters/${name}Fields/schema`) as Names;
      assert.equal(maxItems, items.enum.length);
      return [...items.enum];
    };
    const own = rowColumnsOf(resource);
    assert.deepEqual(chosenAt(label).sort(), [...own].sort());
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
      const times = method === 'POST' ? ['created_at', 'updated_at'] : [];
      const names = method === 'PUT' ? [] : ['name'];
      const single = method === 'PATCH' ? ['add_tags', 'remove_tags'] : [];
      const added = resource === notes ? ['tag_ids', 'tags', ...names, ...single] : [];
      const members = [...Object.keys(fields), ...added, ...times].sort();
      assert.deepEqual([...(operation.body?.members ?? [])].sort(), members);
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
