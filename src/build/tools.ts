// Makes the tools for assistants of what `x-tool` declares at operations. Their schemas have only
// what all clients can read: no references, formats or combinations.

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [member: string]: Json };

/** What is needed of the contract. */
interface Contract {
  readonly paths: Readonly<Record<string, JsonObject>>;
  /** Returns a schema with all keywords of the one that it refers to. */
  readonly merge: (schema: JsonObject) => JsonObject;
  /** Returns what stands for a validator of `schema`. */
  readonly validator: (schema: JsonObject) => string;
}

/** An argument: where a request has it, by which name, and its schema. */
interface Argument {
  readonly to: string;
  readonly as?: string;
  readonly description?: string;
  readonly schema: JsonObject;
}

/** The member `x-tool` of an operation, or one of several. */
interface Declaration {
  readonly position: number;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: JsonObject;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly required?: readonly string[];
  readonly requests: readonly { readonly operation: string }[];
  readonly remedies?: JsonObject;
}

const KEYWORDS = [
  ...['enum', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'uniqueItems', 'default', 'description'],
];

/** Returns the tools in the order of their positions, with `remedies` and their own ones. */
export function toolsOf(contract: Contract, remedies: JsonObject): object[] {
  const operations = Object.entries(contract.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const { operationId, 'x-tool': tools = [] } = operation as JsonObject;
      return { operationId, template, method: method.toUpperCase(), tools };
    }),
  );
  const declared = operations.flatMap(({ tools }) => tools) as unknown as Declaration[];
  declared.sort((one, other) => one.position - other.position);
  return declared.map((tool) => {
    const { name, title, description, annotations, required = [] } = tool;
    const all = Object.entries(tool.arguments).map(([argument, { to, as = argument, ...rest }]) => {
      const schema = plainSchema(contract, rest.schema);
      const shown = { ...schema, description: rest.description ?? schema.description };
      return { name: argument, to, target: as, schema, shown };
    });
    const properties = Object.fromEntries(all.map((each) => [each.name, each.shown]));
    const inputSchema = { type: 'object', properties, required, additionalProperties: false };
    const requests = tool.requests.map(({ operation, ...request }) => {
      const found = operations.find(({ operationId }) => operationId === operation);
      if (!found) throw new Error(`${name} names no operation ${operation}`);
      return { ...request, method: found.method, template: found.template };
    });
    return {
      listing: { name, title, description, inputSchema, annotations },
      arguments: all.map(({ schema, shown: _, ...argument }) => ({
        ...argument,
        type: schema.type,
        default: schema.default,
        rule: schema.pattern && schema.description,
        // The operation validates its body itself.
        validate: argument.to === 'body' ? undefined : contract.validator(schema),
      })),
      requests,
      remedies: { ...remedies, ...tool.remedies },
    };
  });
}

function plainSchema(contract: Contract, declared: JsonObject): JsonObject {
  const schema = contract.merge(declared);
  const kept = Object.entries(schema).filter(([keyword]) => KEYWORDS.includes(keyword));
  // Null stands for what is not given.
  const [type = ''] = [schema.type ?? ''].flat();
  const items = schema.items && { items: plainSchema(contract, schema.items as JsonObject) };
  return { type, ...Object.fromEntries(kept), ...items };
}
