// Validates requests against the contract, so that handlers see only valid input.
import { type EntityTags, parseEntityTags } from '../http/body/entity-tags.ts';
import { isText } from '../http/body/formats.ts';
import { Problem, type Violation } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import type { Members } from '../resources/resource.ts';
import { type Body, type Operation, operations, type Parameter } from './generated.js';
import { describeViolations, findViolations, reportUnknown, violationsOf } from './violations.ts';

/** The parsed headers of a request, without those that were not sent. */
export interface RequestHeaders {
  readonly 'if-match'?: EntityTags;
  readonly 'if-none-match'?: EntityTags;
  readonly 'idempotency-key'?: string;
  readonly 'last-event-id'?: string;
}

/** A validated request: parameters by name, integers as numbers, defaults filled in. */
export interface Input<Parameters, Content> {
  readonly parameters: Parameters;
  readonly body: Content;
  readonly headers: RequestHeaders;
  readonly call: Call;
}

/** How many violations a 422 lists: a small request must not cause a large answer. */
const MAX_ERRORS = 20;

/** Returns what a body, in JSON or a text, stands for in JSON. Adds to the violations. */
export type ReadBody = (call: Call, parameters: Members, violations: Violation[]) => unknown;

/** Returns the route of an operation of the contract; it takes texts only with `readBody`. */
export function endpoint<Parameters = unknown, Content = unknown>(
  method: Operation['method'],
  template: string,
  handle: (input: Input<Parameters, Content>) => Reply | Promise<Reply>,
  readBody?: ReadBody,
): Route {
  const operation = operations.find((each) => each.method === method && each.template === template);
  if (!operation) throw new Error(`the contract has no ${method} ${template}`);
  const { body } = operation;
  const types = body?.types.filter((type) => readBody || !isText(type)) ?? [];
  return {
    method,
    template,
    accepts: body && { types, maxLines: body.lines?.maxItems ?? 0 },
    handle(call) {
      const headers = readHeaders(operation, call);
      const violations: Violation[] = [];
      const parameters = readParameters(operation, call, violations);
      const value = readBody ? readBody(call, parameters, violations) : call.body;
      const content = body && readContent(body, call, value, violations);
      if (violations.length > 0) throw validationFailed(violations);
      return handle({ parameters, body: content, headers, call } as Input<Parameters, Content>);
    },
  };
}

/** Returns the values of the headers that were sent. Throws 400 if one is malformed. */
function readHeaders({ headers }: Operation, call: Call): RequestHeaders {
  const values: Record<string, EntityTags | string> = {};
  for (const { name, rule, validate } of headers) {
    const field = call.headers[name];
    if (field === undefined) continue;
    const text = String(field);
    // Entity tags may have forms that the pattern in the contract leaves out.
    const isTags = name === 'if-match' || name === 'if-none-match';
    const value = isTags ? parseEntityTags(text) : text.replaceAll('"', '');
    if (value === undefined || (!isTags && !validate(text)))
      throw new Problem('bad-request', `The header ${name} must be ${rule}.`);
    values[name] = value;
  }
  return values;
}

function readParameters(operation: Operation, call: Call, violations: Violation[]): Members {
  const { parameters, queryNames } = operation;
  const values: Record<string, unknown> = {};
  const query = call.query === '' ? undefined : new URLSearchParams(call.query);
  if (query && queryNames)
    for (const name of new Set(query.keys()))
      if (!queryNames.includes(name)) reportUnknown(violations, name, queryNames);
  let position = 0;
  for (const parameter of parameters) {
    const { name } = parameter;
    const sent =
      parameter.in === 'path' ? [call.pathValues[position++] ?? ''] : query?.getAll(name);
    const value = sent?.length ? readParameter(parameter, sent, violations) : parameter.default;
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function readParameter(parameter: Parameter, sent: readonly string[], violations: Violation[]) {
  const { name: field, in: place } = parameter;
  if (sent.length > 1 && !parameter.isList) {
    violations.push({ field, in: place, code: 'maxItems', detail: 'must be given only once' });
    return undefined;
  }
  const value = parseParameter(parameter, sent);
  if (!parameter.validate(value)) violations.push(...violationsOf(parameter, value));
  return value;
}

function parseParameter(parameter: Parameter, sent: readonly string[]): unknown {
  const { in: place, isInteger, isList, hasCommas } = parameter;
  const parseInteger = place === 'path' ? parsePathInteger : parseQueryInteger;
  const parse: (text: string) => unknown = isInteger ? parseInteger : String;
  if (!isList) return parse(sent[0] ?? '');
  if (!hasCommas) return sent;
  // `include=` asks for nothing.
  const texts = isInteger ? sent : sent.filter((text) => text !== '');
  return texts.flatMap((text) => text.split(',')).map(parse);
}

/** Parses ASCII digits after an optional minus sign; returns 0 for an unsafe integer. */
export function parsePathInteger(text: string): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/** Parses all but "-0"; an integer out of range violates the range, not the form. */
function parseQueryInteger(text: string): number | undefined {
  return /^(?:[0-9]+|-0*[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}

/** Returns the members of the body that the contract has; adds violations to `violations`. */
function readContent(body: Body, { format }: Call, value: unknown, violations: Violation[]) {
  const isLines = format === 'lines';
  const content = isLines
    ? (value as unknown[]).map((each, line) => readMembers(body, each, `/${line}`, violations))
    : readMembers(body, value, '', violations);
  const schema = isLines ? body.lines : body;
  // The members of a text come from parameters, which have been checked.
  const isFaulty = isText(format) && violations.length > 0;
  if (schema && !isFaulty && !schema.validate(content))
    violations.push(...findViolations(schema, content, !isText(format)));
  return content;
}

/** Returns the members of the object at the JSON Pointer `at`, with defaults. */
function readMembers(body: Body, value: unknown, at: string, violations: Violation[]): unknown {
  const { members, ignored, defaults } = body;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const known: Record<string, unknown> = { ...defaults };
  for (const name of Object.keys(value)) {
    if (members.includes(name)) known[name] = (value as typeof known)[name];
    else if (!ignored.includes(name)) reportUnknown(violations, name, members, at);
  }
  return known;
}

/** Returns the 422 that lists the violations. */
export function validationFailed(violations: readonly Violation[]): Problem {
  const errors = violations.slice(0, MAX_ERRORS);
  return new Problem('validation-failed', describeViolations(violations), { errors });
}
