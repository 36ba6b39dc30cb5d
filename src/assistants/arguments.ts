// The arguments of a call: coerced, checked, and as the request that they stand for.
import { validationFailed } from '../contract/endpoint.ts';
import { reportUnknown, violationsOf } from '../contract/violations.ts';
import type { Violation } from '../http/problem.ts';
import type { Members } from '../resources/resource.ts';
import type { OperationTool } from './generated.js';

/** No number and no list of names for which a model sends a text needs a longer one. */
const MAX_COERCED = 1_000;

/** Returns the value that a text has in JSON, where a schema wants none: many models send such. */
export function coerce(type: string, value: unknown): unknown {
  if (typeof value !== 'string' || type === 'string' || value.length > MAX_COERCED) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

export type ToolRequest = ReturnType<typeof requestOf>;

/** Returns the request for these arguments, where null counts as none. Throws 422. */
export function requestOf({ arguments: declared, requests }: OperationTool, args: Members) {
  const violations: Violation[] = [];
  const names = declared.map(({ name }) => name);
  const given: Record<string, unknown> = {};
  for (const name of Object.keys(args))
    if (!names.includes(name)) reportUnknown(violations, name, names);
  for (const { name, type, default: usual, ago } of declared)
    given[name] = coerce(type, args[name]) ?? usual ?? timeBefore(ago);
  const request = requests.find(({ when }) => !when || (given[when] ?? false) !== false);
  if (!request) throw new Error('the last request of a tool must have no condition');
  const { when, template, method, pathNames, query: fixed } = request;
  const inPath: Record<string, string> = {};
  const query = new URLSearchParams(fixed);
  const headers: Record<string, string> = { ...request.headers };
  const body: Record<string, unknown> = {};
  const refuse = (field: string, code: string, detail: string) =>
    violations.push({ field, in: 'query', code, detail });
  for (const parameter of declared) {
    const { name: field, target, to, isRequired, validate } = parameter;
    const value = given[field];
    const isTaken = to !== 'path' || pathNames.includes(target);
    if (value === undefined) {
      if (isRequired || (isTaken && to === 'path')) refuse(field, 'required', 'is required');
      continue;
    }
    if (!isTaken) refuse(field, 'oneOf', `must not be combined with ${when ?? 'id'}`);
    if (validate && !validate(value)) {
      const [{ instancePath = '' } = {}] = validate.errors ?? [];
      const name = `${field}${instancePath.replace('/', '.')}`;
      violations.push(...violationsOf({ ...parameter, name, validate, in: 'query' }, value));
    } else if (to === 'path') inPath[target] = `${value}`;
    else if (to === 'query') {
      query.delete(target);
      for (const each of [value].flat()) query.append(target, `${each}`);
    }
    // Quotes are a burden in JSON. What no tag has is left out: it could end the tag.
    else if (to === 'header') headers[target] = `"${`${value}`.replace(/[^!#-~]/g, '')}"`;
    else if (to === 'body') body[target] = value;
  }
  if (violations.length > 0) throw validationFailed(violations);
  const pathValues = pathNames.map((name) => inPath[name] ?? '');
  const ids: Record<string, number> = {};
  for (const name of pathNames) ids[name] = Number(inPath[name]);
  const isRead = method === 'GET';
  return { method, template, pathValues, query, headers, body, ids, isRead };
}

function timeBefore(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : new Date(Date.now() - seconds * 1_000).toISOString();
}
