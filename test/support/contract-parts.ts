// Reads an OpenAPI description: its references and what schemas have together.

/** A part of a contract. */
export type Part = Readonly<Record<string, unknown>>;

/** Returns the items of a value, none if it is no list. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns the names of the members of a value. */
export const namesIn = (value: unknown) => Object.keys(Object(value));

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the part of that name, if there is one. */
export function partAt(value: unknown, name: string): Part | undefined {
  const part = isPart(value) ? value[name] : undefined;
  return isPart(part) ? part : undefined;
}

/** Returns an operation with the parameters of all operations at its path. */
export function withShared(operation: Part, item: Part | undefined): Part {
  const parameters = [...listOf(item?.parameters), ...listOf(operation.parameters)];
  return { ...operation, parameters };
}

/** Returns the parameters of an operation by their places and names. */
export function parametersOf(contract: Part, operation: Part): Map<string, Part> {
  const parameters = listOf(operation.parameters).map((each) => whole(contract, each));
  return new Map(parameters.map((each) => [`the ${each.in} parameter ${each.name}`, each]));
}

/** Returns the schemas of which a value must fit one, each without references at its top. */
export function alternatives(contract: Part, schema: unknown): Part[] {
  const { anyOf, oneOf, ...rest } = whole(contract, schema);
  const choices = [...listOf(anyOf), ...listOf(oneOf)];
  if (choices.length === 0) return [rest];
  return choices.flatMap((each) =>
    alternatives(contract, each).map((choice) => merged([rest, choice])),
  );
}

/** The parts that were read, which nobody changes later. */
const read = new WeakMap<Part, Part>();

/** Returns a part with what its references and `allOf` lead to. */
export function whole(contract: Part, value: unknown): Part {
  if (!isPart(value)) return value === false ? { type: [] } : {};
  const known = read.get(value);
  if (known) return known;
  const { $ref, allOf, ...own } = value;
  const target = typeof $ref === 'string' ? [whole(contract, targetOf(contract, $ref))] : [];
  const found = merged([...target, ...listOf(allOf).map((each) => whole(contract, each)), own]);
  read.set(value, found);
  return found;
}

function targetOf(contract: Part, $ref: string): unknown {
  const names = $ref.split('/').slice(1);
  const target = names.reduce<unknown>(
    (value, name) => Object(value)[name.replaceAll('~1', '/').replaceAll('~0', '~')],
    contract,
  );
  if (target === undefined) throw new Error(`the contract has no ${$ref}`);
  return target;
}

function merged(parts: readonly Part[]): Part {
  const properties = parts.map((each) => Object(each.properties));
  const required = parts.flatMap((each) => listOf(each.required));
  return {
    ...Object.assign({}, ...parts),
    ...(parts.some((each) => each.properties) && { properties: Object.assign({}, ...properties) }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}
