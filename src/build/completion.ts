// Completes the contract: adds what follows from the schema of a record, such as `NotePart`, and
// from its entry in src/resources/, so that a field needs one of both.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { RESOURCES } from '../resources/resources.ts';

/** The keywords of the schemas that are completed, where these have them. */
interface Schema {
  readonly properties: Record<string, object>;
  readonly required: string[];
  readonly enum: string[];
  readonly 'x-enum-varnames'?: string[];
  readonly items: { readonly enum: string[]; 'x-enum-varnames'?: string[] };
  maxItems: number;
}

interface Reference {
  readonly $ref?: string;
}

interface Item {
  readonly get?: {
    readonly parameters: Reference[];
    readonly responses: Record<string, Reference>;
  };
}

/** The parts of the contract that are completed, and read for it. */
export interface Contract {
  readonly paths: Record<string, Item>;
  readonly components: {
    readonly schemas: Record<string, Schema>;
    readonly parameters: Record<string, { readonly schema: Schema }>;
  };
}

const IGNORED = { $ref: '#/components/schemas/Ignored' };

/** Completes the file of the contract; writes and formats it only if something was missing. */
export async function completeFile(file: URL): Promise<void> {
  const contract = JSON.parse(await readFile(file, 'utf8'));
  const before = JSON.stringify(contract);
  complete(contract, RESOURCES);
  const after = JSON.stringify(contract);
  if (after === before) return;
  await writeFile(file, after);
  const biome = fileURLToPath(new URL('../node_modules/.bin/biome', file));
  const args = ['format', '--write', '--vcs-enabled=false', fileURLToPath(file)];
  await promisify(execFile)(biome, args);
}

/** Adds to `contract` what follows. Throws if it lacks a schema or a parameter of a resource. */
export function complete(contract: Contract, resources: readonly Resource[]): void {
  for (const resource of resources) completeCount(contract, resource);
  for (const resource of resources) {
    completeBodies(contract, resource);
    completeChoices(contract, resource);
    completeFilters(contract, resource);
  }
  const all = found(contract.components.parameters, 'ChangesFields').schema;
  choose(all, resources.flatMap(rowColumnsOf));
}

/** Lists of owners can count what they own. */
function completeCount({ components }: Contract, { owner, table }: Resource): void {
  if (!owner) return;
  const { properties } = found(components.schemas, `${owner.resource.label}Part`);
  const description = `The number of ${table}; only with \`include=${table}_count\`.`;
  properties[`${table}_count`] ??= { $ref: '#/components/schemas/Count', description };
}

/** Bodies have the fields; requests ignore other members, and whole examples have the defaults. */
function completeBodies(contract: Contract, resource: Resource): void {
  const { label, fields } = resource;
  const { schemas } = contract.components;
  const part = found(schemas, `${label}Part`).properties;
  const inputs = [found(schemas, `${label}Input`), found(schemas, `${label}Patch`)] as const;
  const trash = schemas[`Deleted${label}Part`]?.properties ?? {};
  for (const [name, { default: byDefault }] of Object.entries(fields)) {
    // Reads may cut a field.
    const { 'x-whole': schema = found(part, name) } = Object(part[name]);
    for (const { properties } of inputs) properties[name] = schema;
    if (byDefault !== undefined) inputs[0].properties[name] = { ...schema, default: byDefault };
    trash[name] = schema;
  }
  for (const { properties } of inputs)
    for (const name of Object.keys(part)) properties[name] ??= IGNORED;
  const required = Object.keys(fields).filter((name) => fields[name]?.default === undefined);
  follow(inputs[0].required, required);
  follow(found(schemas, label).required, rowColumnsOf(resource));
  follow(schemas[`Deleted${label}`]?.required ?? [], Object.keys(trash));

  const members = { ...part, ...trash };
  for (const value of objectsIn(contract)) {
    const isValue = (name: string) => /^(?:number|string|boolean)$/.test(typeof value[name]);
    if (typeof value.id !== 'number' || !required.every(isValue)) continue;
    if (!Object.keys(value).every((name) => name in members)) continue;
    for (const [name, { default: byDefault }] of Object.entries(fields)) value[name] ??= byDefault;
  }
}

/** Yields all objects, among them the examples. */
function* objectsIn(value: object): Generator<Record<string, unknown>> {
  yield Object(value);
  for (const each of Object.values(value))
    if (typeof each === 'object' && each !== null) yield* objectsIn(each);
}

/** `fields` chooses the columns, `include` adds the other members, `order` has the orders. */
function completeChoices({ components }: Contract, resource: Resource): void {
  const { label, orders = {} } = resource;
  const { schemas, parameters } = components;
  const columns = rowColumnsOf(resource);
  choose(found(parameters, `${label}Fields`).schema, columns);
  const trash = schemas[`Deleted${label}Part`];
  if (trash)
    choose(found(parameters, `Deleted${label}Fields`).schema, Object.keys(trash.properties));

  const others = Object.keys(found(schemas, `${label}Part`).properties)
    .filter((name) => !columns.includes(name))
    .map((name) => (/^(?:created|updated)_at$/.test(name) ? 'times' : name));
  const both = [`${label}Include`, `${label}ListInclude`].flatMap((name) => parameters[name] ?? []);
  const known = both.flatMap(({ schema }) => schema.items.enum);
  // A member that only the lists have, such as `snippet`, stays so.
  for (const { schema } of both) {
    const own = [...schema.items.enum];
    const isHere = (name: string) => own.includes(name) || !known.includes(name);
    choose(schema, others.filter(isHere));
  }

  const names = Object.keys(orders).flatMap((name) => [name, `-${name}`]);
  if (names.length === 0) return;
  const { schema } = found(parameters, `${label}Order`);
  for (const name of names) {
    if (schema.enum.includes(name)) continue;
    schema.enum.push(name);
    schema['x-enum-varnames']?.push(pascal(name.replace('-', 'minus_')));
  }
}

/** Each list has the filters by fields, as parameters such as `TagNameFilter`. */
function completeFilters({ paths, components }: Contract, resource: Resource): void {
  const { label, path, fields, filters = [] } = resource;
  const part = found(components.schemas, `${label}Part`).properties;
  for (const name of filters) {
    const key = `${label}${pascal(name)}Filter`;
    const { description: _, ...own } = Object(found(part, name));
    // A query has no booleans.
    const schema =
      fields[name]?.type === 'boolean' ? { type: 'string', enum: ['true', 'false'] } : own;
    const description = `Only ${path.replace(/.*\//, '')} with this ${name}.`;
    const usual = { name, in: 'query', description };
    components.parameters[key] = { ...usual, ...components.parameters[key], schema };
    const $ref = `#/components/parameters/${key}`;
    for (const { get } of Object.values(paths)) {
      if (get?.responses[200]?.$ref !== `#/components/responses/${label}ListResponse`) continue;
      if (!get.parameters.some((each) => each.$ref === $ref)) get.parameters.push({ $ref });
    }
  }
}

/** Lets a list in a query have exactly these names. */
function choose(schema: Schema, names: readonly string[]): void {
  const { items } = schema;
  follow(items.enum, names);
  schema.maxItems = items.enum.length;
  if (items['x-enum-varnames']) items['x-enum-varnames'] = items.enum.map(pascal);
}

/** Lets `list` have exactly these names. Those that it has stay in their order. */
function follow(list: string[], names: readonly string[]): void {
  const all = new Set([...list.filter((name) => names.includes(name)), ...names]);
  list.splice(0, list.length, ...all);
}

function found<Part>(parts: Readonly<Record<string, Part>>, name: string): Part {
  const part = parts[name];
  if (part === undefined) throw new Error(`the contract lacks ${name}`);
  return part;
}

function pascal(name: string): string {
  return name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
