// Between HTTP and a handler: validates a request against its operation in the contract, so that handlers see only
// input that fits. Everything that is wrong is told at once, in one 422.
import type { Call, Route } from '../http/dispatch.ts';
import { Problem, type Violation } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import { type Body, type Operation, operations, type Parameter, type SchemaError } from './generated.js';
import { parsePathInteger, parseQueryInteger } from './parameters.ts';

/** A validated request: parameters by name, integers as numbers, defaults filled in. */
export interface Input<Parameters, Content> {
  readonly parameters: Parameters;
  readonly body: Content;
  readonly call: Call;
}

/** Handles a validated request. */
export type Handler<Parameters, Content> = (input: Input<Parameters, Content>) => Reply | Promise<Reply>;

/** How many violations a 422 lists: enough to mend a request, too few to make a large answer of a small request. */
const ERRORS_SHOWN = 20;

/** How much of an array is looked at for the list of violations; a refused array may have half a million members. */
const MEMBERS_LISTED = 100;

/**
 * Returns the route for the operation at `method` and `template`. `Parameters` and `Content` say what its schemas
 * guarantee. Throws if the contract has no such operation.
 */
export function endpoint<Parameters = unknown, Content = unknown>(
  method: Operation['method'],
  template: string,
  handle: Handler<Parameters, Content>,
): Route {
  const operation = operations.find((each) => each.method === method && each.template === template);
  if (!operation) throw new Error(`the contract has no ${method} ${template}`);
  const { body } = operation;

  return {
    method,
    template,
    takesBody: body !== undefined,
    handle(call) {
      const violations: Violation[] = [];
      const parameters = checkParameters(operation, call, violations);
      if (body && !body.first(call.body)) violations.push(...violationsOf(body, call.body));
      if (violations.length > 0) throw refusal(violations);
      const content = body ? { ...body.defaults, ...(call.body as object) } : undefined;
      return handle({ parameters: parameters as Parameters, body: content as Content, call });
    },
  };
}

function checkParameters({ parameters }: Operation, call: Call, violations: Violation[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const query = call.query === '' ? undefined : new URLSearchParams(call.query);
  let segment = 0;
  for (const parameter of parameters) {
    const sent = parameter.in === 'path' ? [call.path[segment++] ?? ''] : (query?.getAll(parameter.name) ?? []);
    values[parameter.name] = checkParameter(parameter, sent, violations);
  }
  return values;
}

function checkParameter(parameter: Parameter, sent: readonly string[], violations: Violation[]): unknown {
  const [text] = sent;
  if (text === undefined) return parameter.default;
  const place = { field: parameter.name, in: parameter.in };
  if (sent.length > 1) {
    violations.push({ ...place, code: 'maxItems', detail: 'must be given only once' });
    return undefined;
  }
  const parse = parameter.in === 'path' ? parsePathInteger : parseQueryInteger;
  const value = parameter.isInteger ? parse(text) : text;
  if (!parameter.validate(value)) {
    for (const error of parameter.validate.errors ?? []) {
      violations.push({ ...place, code: error.keyword, detail: explain(error) });
    }
  }
  return value;
}

function violationsOf(body: Body, value: unknown): Violation[] {
  const found = body.all(shortened(value)) ? [] : body.all.errors;
  // What is wrong may stand beyond the part that was looked at.
  return (found?.length ? found : (body.first.errors ?? [])).map(toViolation);
}

/** `value` with its long arrays cut: collecting every violation of an unbounded input is a denial of service. */
function shortened(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    Array.isArray(member) ? member.slice(0, MEMBERS_LISTED) : member,
  ]);
  return Object.fromEntries(members);
}

function toViolation(error: SchemaError): Violation {
  const missing = error.keyword === 'required' ? `/${error.params.missingProperty}` : '';
  const path = `${error.instancePath}${missing}`;
  return {
    field: path.slice(1).replaceAll('/', '.'),
    in: 'body',
    pointer: `#${path}`,
    code: error.keyword,
    detail: explain(error),
  };
}

function explain({ keyword, params, message = 'is not valid' }: SchemaError): string {
  if (keyword === 'pattern' && params.pattern === '\\S') return 'must not be blank';
  if (keyword === 'format' && params.format === 'well-formed') return 'must be valid Unicode, without lone surrogates';
  return message;
}

function refusal(violations: readonly Violation[]): Problem {
  const shown = violations.slice(0, ERRORS_SHOWN);
  const more = violations.length - shown.length;
  const detail = shown.slice(0, 3).map((each) => `${each.field || 'The body'} ${each.detail}`);
  const rest = shown.length - detail.length + more;
  if (rest > 0) detail.push(`and ${rest} more`);
  return new Problem('validation-failed', `${detail.join('; ')}.`, { errors: shown });
}
