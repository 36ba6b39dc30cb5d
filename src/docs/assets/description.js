// Prepares the description of the service for Swagger UI: what an operation can be found by, and
// what a parameter may be, in words.

/** What a schema requires, with its label. */
const RULES = {
  default: 'Default',
  minimum: 'Minimum',
  maximum: 'Maximum',
  minLength: 'Minimum length',
  maxLength: 'Maximum length',
  maxItems: 'Maximum number of items',
  enum: 'Values',
};

/** Returns the words of `text` in lower case, each after a space. */
export const wordsOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+|^/gu, ' ')
    .trimEnd();

/** Leaves out patterns, as a reviver: descriptions say what they require. */
const withoutPatterns = (name, value) =>
  name === 'pattern' && typeof value === 'string' ? undefined : value;

const asCode = (value) => `\`${value}\``;

/** Returns the description `text`, with operations that are tried at `base`. */
export function prepare(text, base) {
  const spec = JSON.parse(text, withoutPatterns);
  const groups = new Map(spec.tags.map(({ name, description }) => [name, description]));

  for (const [path, { parameters: common = [], ...operations }] of Object.entries(spec.paths)) {
    // Swagger UI 5.35 does not resolve the common parameters of a path in the operation that is
    // opened first.
    delete spec.paths[path].parameters;
    for (const [method, operation] of Object.entries(operations)) {
      const { operationId, summary, description, tags, requestBody, responses } = operation;
      const parameters = [...common, ...(operation.parameters ?? [])].map(resolve);
      const texts = [path, method, operationId, summary, description, ...tags, groups.get(tags[0])];
      for (const parameter of parameters) texts.push(parameter.name, parameter.description);
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
      collectMembers([requestBody, successes], new Set(), texts);
      operation['x-words'] = wordsOf(texts.join(' '));
      operation.parameters = parameters.map(describe);
    }
  }
  // Calls go to the origin of the page, so that the content security policy can forbid every other
  // host.
  spec.servers = [{ url: base }];
  return spec;

  function resolve({ $ref, ...own }) {
    if ($ref === undefined) return own;
    const target = $ref
      .slice(2)
      .split('/')
      .reduce((part, name) => part[name], spec);
    return { ...resolve(target), ...own };
  }

  /** Adds the names of the members of all schemas in `part`. */
  function collectMembers(part, seen, names) {
    if (typeof part !== 'object' || part === null || seen.has(part.$ref)) return;
    if (part.$ref) seen.add(part.$ref);
    const resolved = Array.isArray(part) ? part : resolve(part);
    names.push(...Object.keys(resolved.properties ?? {}));
    for (const inner of Object.values(resolved)) collectMembers(inner, seen, names);
  }

  /** Leaves only what inputs need of the schema: the service itself says what is wrong. */
  function describe(parameter) {
    const schema = resolve(parameter.schema);
    const items = schema.items && resolve(schema.items);
    const all = { ...items, ...schema };
    const rules = Object.entries(RULES)
      .filter(([name]) => all[name] !== undefined)
      .map(([name, label]) => `${label}: ${[all[name]].flat().map(asCode).join(', ')}.`);
    const form = parameter.schema.description;
    const texts = [parameter.description, form && `Must be ${form}.`, rules.join(' ')];
    const shape = ({ type, enum: values }) => ({ type, enum: values });
    return {
      ...parameter,
      description: texts.filter(Boolean).join('\n\n'),
      schema: { ...shape(schema), ...(items && { items: shape(items) }) },
    };
  }
}
