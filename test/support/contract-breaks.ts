// Finds what a later contract takes from clients of an earlier one: what the guide to releasing
// promises not to take within a major version.
import {
  alternatives,
  listOf,
  namesIn,
  type Part,
  parametersOf,
  partAt,
  whole,
  withShared,
} from './contract-parts.ts';

/** Returns a line for each promise to clients of `before` that `after` breaks. */
export function breaksOf(before: Part, after: Part): string[] {
  const comparison = { before, after, known: new Map() };
  const problems = [...problemsIn(before)].filter((slug) => !problemsIn(after).has(slug));
  const breaks = namesIn(before.paths).flatMap((path) => {
    const [old, item] = [partAt(before.paths, path), partAt(after.paths, path)];
    if (!item) return [`${path} is gone`];
    const methods = METHODS.filter((method) => old?.[method]);
    return methods.flatMap((method) => {
      const place = `${method.toUpperCase()} ${path}`;
      const operation = partAt(item, method);
      if (!operation) return [`${place} is gone`];
      const own = partAt(old, method) ?? {};
      return operationBreaks(comparison, withShared(own, old), withShared(operation, item)).map(
        (fault) => `${place}: ${fault}`,
      );
    });
  });
  return [...problems.map((slug) => `the problem ${slug} is gone`), ...breaks];
}

/** The contracts, in which references lead to other parts. */
interface Comparison {
  readonly before: Part;
  readonly after: Part;
  /** The faults of pairs of schemas that were compared, or are being compared, as JSON. */
  readonly known: Map<string, string[]>;
}

/** The slugs of all problems: examples have them. */
function problemsIn({ components }: Part): Set<string> {
  const text = JSON.stringify(partAt(components, 'responses'));
  return new Set([...text.matchAll(/\/problems\/([a-z-]+)"/g)].map(([, slug = '']) => slug));
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];

function operationBreaks(contracts: Comparison, before: Part, after: Part): string[] {
  const isRenamed = before.operationId !== after.operationId;
  return [
    ...(isRenamed ? [`its id is no longer ${before.operationId}`] : []),
    ...securityBreaks(contracts, before, after),
    ...parameterBreaks(contracts, before, after),
    ...bodyBreaks(contracts, before.requestBody, after.requestBody),
    ...responseBreaks(contracts, before.responses, after.responses),
  ];
}

/** Each way to be admitted stays one; no way at all means that everybody is admitted. */
function securityBreaks(contracts: Comparison, before: Part, after: Part): string[] {
  const waysOf = (operation: Part, contract: Part) => {
    const ways = listOf(operation.security ?? contract.security).map((way) => JSON.stringify(way));
    return ways.length === 0 ? ['{}'] : ways;
  };
  const ways = waysOf(after, contracts.after);
  if (ways.includes('{}')) return [];
  const gone = waysOf(before, contracts.before).filter((way) => !ways.includes(way));
  return gone.map((way) => `no longer admits ${way}`);
}

function parameterBreaks(contracts: Comparison, before: Part, after: Part): string[] {
  const [old, parameters] = [
    parametersOf(contracts.before, before),
    parametersOf(contracts.after, after),
  ];
  const changed = [...old].flatMap(([name, was]) => {
    const is = parameters.get(name);
    if (!is) return [`no longer takes ${name}`];
    const isWritten = ({ style, explode }: Part) => JSON.stringify([style, explode]);
    return [
      ...(is.required === true && was.required !== true ? [`requires ${name}`] : []),
      ...(isWritten(is) === isWritten(was) ? [] : [`${name} is written in another way`]),
      ...narrowed(contracts, was.schema, is.schema).map((fault) => `${name} ${fault}`),
    ];
  });
  const added = [...parameters].filter(([name, is]) => is.required === true && !old.has(name));
  return [...changed, ...added.map(([name]) => `requires ${name}`)];
}

function bodyBreaks(contracts: Comparison, before: unknown, after: unknown): string[] {
  const [was, is] = [whole(contracts.before, before), whole(contracts.after, after)];
  const required = is.required === true && was.required !== true ? ['requires a body'] : [];
  const bounds = Object.entries(partAt(is, 'x-bounds') ?? {}).filter(
    ([name, bound]) => Number(bound) < Number(partAt(was, 'x-bounds')?.[name] ?? Infinity),
  );
  const contents = namesIn(was.content).flatMap((type) => {
    const [old, content] = [partAt(was.content, type), partAt(is.content, type)];
    if (!content) return [`no longer takes ${type}`];
    return narrowed(contracts, old?.schema, content.schema).map((fault) => `its ${type} ${fault}`);
  });
  return [...required, ...bounds.map(([name]) => `takes fewer ${name}`), ...contents];
}

function responseBreaks(contracts: Comparison, before: unknown, after: unknown): string[] {
  return namesIn(before).flatMap((status) => {
    const found = partAt(after, status);
    if (!found) return [`no longer answers with ${status}`];
    const was = whole(contracts.before, partAt(before, status));
    const is = whole(contracts.after, found);
    const headers = namesIn(was.headers).flatMap((name) => {
      const old = whole(contracts.before, partAt(was.headers, name));
      const header = partAt(is.headers, name);
      if (!header) return [`has no header ${name}`];
      const { required, schema } = whole(contracts.after, header);
      const isOptional = old.required === true && required !== true;
      return [
        ...(isOptional ? [`may have no header ${name}`] : []),
        ...widened(contracts, old.schema, schema).map((fault) => `header ${name} ${fault}`),
      ];
    });
    const contents = namesIn(was.content).flatMap((type) => {
      const [old, content] = [partAt(was.content, type), partAt(is.content, type)];
      if (!content) return [`is never ${type}`];
      return widened(contracts, old?.schema, content.schema).map((fault) => `${type} ${fault}`);
    });
    return [...headers, ...contents].map((fault) => `its ${status} ${fault}`);
  });
}

/** Returns why what a request had by the schema `before` may be refused by `after`. */
function narrowed(contracts: Comparison, before: unknown, after: unknown): string[] {
  return compareOnce(contracts, ['request', before, after], (was, is) =>
    was.flatMap((old) => fewest(is.map((schema) => requestFaults(contracts, old, schema)))),
  );
}

/** Returns why what an answer has by the schema `after` may not be what `before` promised. */
function widened(contracts: Comparison, before: unknown, after: unknown): string[] {
  return compareOnce(contracts, ['answer', before, after], (was, is) =>
    is.flatMap((schema) => fewest(was.map((old) => answerFaults(contracts, old, schema)))),
  );
}

/** Compares the alternatives of two schemas once. */
function compareOnce(
  contracts: Comparison,
  [use, before, after]: readonly [use: string, before: unknown, after: unknown],
  compare: (was: readonly Part[], is: readonly Part[]) => string[],
): string[] {
  const key = JSON.stringify([use, before, after]);
  const known = contracts.known.get(key);
  if (known) return known;
  contracts.known.set(key, []);
  const { before: old, after: later } = contracts;
  const faults = compare(alternatives(old, before), alternatives(later, after));
  contracts.known.set(key, faults);
  return faults;
}

const UPPER = ['maxLength', 'maxItems', 'maxProperties', 'maximum', 'exclusiveMaximum'];
const LOWER = ['minLength', 'minItems', 'minProperties', 'minimum', 'exclusiveMinimum'];

/** Keywords of requests that may only stay as they are or go. */
const FIXED = [
  ...['pattern', 'format', 'multipleOf', 'uniqueItems', 'not', 'if', 'then', 'else', 'contains'],
  ...['propertyNames', 'patternProperties', 'dependentRequired', 'dependentSchemas'],
  ...['prefixItems', 'contentEncoding', 'x-note-name'],
];

function requestFaults(contracts: Comparison, was: Part, is: Part): string[] {
  const types = typesOf(was).filter((type) => !isOneOf(type, typesOf(is)));
  const lower = UPPER.filter(
    (name) => numberIn(is, name, Infinity) < numberIn(was, name, Infinity),
  );
  const least = (name: string) => (/Length|Items|Properties/.test(name) ? 0 : -Infinity);
  const higher = LOWER.filter(
    (name) => numberIn(is, name, least(name)) > numberIn(was, name, least(name)),
  );
  const changed = FIXED.filter((name) => is[name] !== undefined && !isSame(is[name], was[name]));
  const hasOtherDefault = was.default !== undefined && !isSame(was.default, is.default);
  const required = listOf(is.required).filter((name) => !listOf(was.required).includes(name));
  return [
    ...types.map((type) => `may not be ${type}`),
    ...missingValues(was, is).map((value) => `may not be ${value}`),
    ...(valuesOf(is) && !valuesOf(was) ? ['may not be any value'] : []),
    ...[...lower, ...higher].map((name) => `has a narrower ${name}`),
    ...changed.map((name) => `has another ${name}`),
    ...(hasOtherDefault ? ['has another default'] : []),
    ...required.map((name) => `requires ${name}`),
    ...memberFaults(contracts, was, is, narrowed),
    ...(isOpen(was) ? openFaults(contracts, was, is) : []),
    ...itemFaults(contracts, was.items, is.items, narrowed),
  ];
}

/** The faults of members that were in no schema before, and were accepted. */
function openFaults(contracts: Comparison, was: Part, is: Part): string[] {
  if (!typesOf(was).includes('object')) return [];
  const known = namesIn(was.properties);
  const added = namesIn(is.properties).filter((name) => !known.includes(name));
  return [
    ...(isOpen(is) ? [] : ['may have no other members']),
    ...added.flatMap((name) =>
      narrowed(contracts, was.additionalProperties, partAt(is.properties, name)).map(
        (fault) => `.${name} ${fault}`,
      ),
    ),
  ];
}

function answerFaults(contracts: Comparison, was: Part, is: Part): string[] {
  const types = typesOf(is).filter((type) => !isOneOf(type, typesOf(was)));
  const optional = listOf(was.required).filter((name) => !listOf(is.required).includes(name));
  const isOtherFormat = was.format !== undefined && was.format !== is.format;
  return [
    ...types.map((type) => `may be ${type}`),
    ...missingValues(was, is).map((value) => `is never ${value}`),
    ...(valuesOf(was) && !valuesOf(is) ? ['may be any value'] : []),
    ...(isOtherFormat ? ['has another format'] : []),
    ...optional.map((name) => `may have no ${name}`),
    ...memberFaults(contracts, was, is, widened),
    ...itemFaults(contracts, was.items, is.items, widened),
  ];
}

type Compare = (contracts: Comparison, before: unknown, after: unknown) => string[];

function memberFaults(contracts: Comparison, was: Part, is: Part, compare: Compare): string[] {
  const members = namesIn(was.properties).flatMap((name) => {
    const [old, member] = [partAt(was.properties, name), partAt(is.properties, name)];
    if (!member) return [`has no ${name}`];
    return compare(contracts, old, member).map((fault) => `.${name} ${fault}`);
  });
  const [old, others] = [was.additionalProperties, is.additionalProperties];
  const areSchemas = typeof old === 'object' && typeof others === 'object';
  const otherFaults = areSchemas ? compare(contracts, old, others) : [];
  return [...members, ...otherFaults.map((fault) => `.* ${fault}`)];
}

function itemFaults(contracts: Comparison, was: unknown, is: unknown, compare: Compare): string[] {
  if (was === undefined && is === undefined) return [];
  return compare(contracts, was, is).map((fault) => `[] ${fault}`);
}

/** The values of an enumeration that are left out, as JSON. */
function missingValues(was: Part, is: Part): string[] {
  const values = valuesOf(is);
  return (values && valuesOf(was)?.filter((value) => !values.includes(value))) ?? [];
}

function valuesOf(schema: Part): string[] | undefined {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((each) => JSON.stringify(each)) : undefined;
}

const ANY = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const typesOf = ({ type }: Part) => (type === undefined ? ANY : listOf([type].flat()).map(String));

const isOneOf = (type: string, types: readonly string[]) =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

const isOpen = ({ additionalProperties: others }: Part) => others !== false;

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

const fewest = (lists: readonly string[][]) =>
  lists.toSorted((one, other) => one.length - other.length)[0] ?? [];

function numberIn(schema: Part, name: string, byDefault: number): number {
  const value = schema[name];
  return typeof value === 'number' ? value : byDefault;
}
