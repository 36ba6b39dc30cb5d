// Makes the tools for assistants of what `x-tool` declares at operations. Their schemas have only
// the keywords that the interfaces of all models know.

export type Json = null | boolean | number | string | Json[] | JsonObject;

export type JsonObject = { [member: string]: Json };

type Arguments = Readonly<
  Record<
    string,
    { to: string; as?: string; description?: string; ago?: number; schema: JsonObject }
  >
>;

/** What all tools have, and the arguments of those that write. */
export interface Shared {
  readonly remedies: JsonObject;
  readonly arguments: Arguments;
}

/** The member `x-tool` of an operation, or one of several. */
interface Declaration {
  readonly position: number;
  readonly listing: JsonObject;
  /** Where a request has each argument, by which name, and its schema. */
  readonly arguments: Arguments;
  readonly required?: readonly string[];
  readonly requests: readonly { readonly operation: string }[];
  /** An operation that finds the id of a note by its name, and one that reads it afterwards. */
  readonly find?: string;
  readonly show?: { readonly operation: string };
  /** Operations that read notes, one of which has the title of each. */
  readonly titles?: readonly string[];
  /** What to do, by the slug of a problem, the code of a violation, or the name of an argument. */
  readonly remedies?: JsonObject;
}

/** The keywords that a model may get: some services refuse a conversation because of others. */
const KNOWN = /^(?:title|description|enum|pattern|default|(?:min|max)(?:imum|Length|Items))$/;

/** Returns the tools by their positions. `merge` follows references, `validator` compiles. */
export function toolsOf(
  paths: Readonly<Record<string, JsonObject>>,
  shared: Shared,
  merge: (schema: JsonObject) => JsonObject,
  validator: (schema: JsonObject) => string,
): object[] {
  const operations = Object.entries(paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const { operationId, 'x-tool': tools = [] } = operation as JsonObject;
      return { operationId, tools, route: { method: method.toUpperCase(), template } };
    }),
  );
  const declared = operations.flatMap(({ tools }) => tools) as unknown as Declaration[];
  declared.sort((one, other) => one.position - other.position);
  const requested = ({ operation, ...request }: { readonly operation: string }) => {
    const found = operations.find(({ operationId }) => operationId === operation);
    if (!found) throw new Error(`a tool names the operation ${operation}, which does not exist`);
    const pathNames = [...found.route.template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    return { ...request, ...found.route, pathNames };
  };
  return declared.map(({ listing, required = [], find, show, titles, ...tool }) => {
    const { readOnlyHint } = Object(listing.annotations);
    const added = readOnlyHint ? {} : shared.arguments;
    const taken = Object.entries({ ...tool.arguments, ...added });
    const all = taken.map(([name, { to, as = name, ago, ...argument }]) => {
      const schema = plain(merge, argument.schema);
      const { type, default: usual, pattern, description: rule } = schema;
      return {
        shown: { ...schema, description: argument.description ?? rule },
        ...{ name, to, target: as, type, default: usual, ago, rule: pattern && rule },
        isRequired: required.includes(name),
        // The operation validates its body itself.
        validate: to === 'body' ? undefined : validator(merge(argument.schema)),
      };
    });
    const properties = Object.fromEntries(all.map(({ name, shown }) => [name, shown]));
    return {
      listing: { ...listing, inputSchema: { type: 'object', properties, required } },
      arguments: all.map(({ shown: _, ...argument }) => argument),
      requests: tool.requests.map(requested),
      ...(find && { find: requested({ operation: find }) }),
      ...(show && { show: requested(show) }),
      ...(titles && { titles: titles.map((operation) => requested({ operation })) }),
      remedies: { ...shared.remedies, ...tool.remedies },
    };
  });
}

/** Returns a schema of one type with {@link KNOWN} only; null stands for what is not given. */
function plain(merge: (schema: JsonObject) => JsonObject, declared: JsonObject): JsonObject {
  const { type, items, ...others } = merge(declared);
  const kept = Object.entries(others).filter(
    ([keyword, value]) => KNOWN.test(keyword) && value !== null,
  );
  // The description of the list says what its items are.
  const ofItems = items && {
    items: plain(merge, { ...merge(items as JsonObject), description: null }),
  };
  return { type: [type ?? ''].flat()[0] ?? '', ...Object.fromEntries(kept), ...ofItems };
}
