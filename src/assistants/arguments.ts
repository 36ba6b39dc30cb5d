// The arguments of a call: coerced, checked, and as the request that they stand for.
import { validationFailed } from '../contract/endpoint.ts';
import type { OperationTool, ToolRequest } from '../contract/generated.js';
import { reportUnknown, violationsOf } from '../contract/violations.ts';
import { parseJson } from '../http/body/json.ts';
import type { Violation } from '../http/problem.ts';
import type { Members } from './protocol.ts';

/** More items than a list may have: a validator would report each. */
const MAX_CHECKED = 101;

/** Returns the value that a text stands for where a schema wants another type. */
export function coerce(type: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^-?\d{1,16}$/.test(value)) return Number(value);
  if (type === 'boolean' && /^(?:true|false)$/.test(value)) return value === 'true';
  if (type !== 'array' || !value.startsWith('[')) return value;
  try {
    return parseJson(Buffer.from(value));
  } catch {
    return value;
  }
}

/** Returns the parts of `request` for these arguments, where null counts as none. Throws 422. */
export function requestOf<Request extends ToolRequest>(
  { arguments: declared }: OperationTool,
  { when, template, method, query: fixed }: Request,
  args: Members,
) {
  const violations: Violation[] = [];
  const names = declared.map(({ name }) => name);
  for (const name of Object.keys(args))
    if (!names.includes(name)) reportUnknown(violations, name, names);
  const inPath: Record<string, string> = {};
  const query = new URLSearchParams(fixed);
  const headers: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  let offset = 0;
  for (const { name, to, target, type, default: usual, ...rules } of declared) {
    const value = coerce(type, Object.hasOwn(args, name) ? (args[name] ?? usual) : usual);
    const refuse = (code: string, detail: string) =>
      violations.push({ field: name, in: 'query', code, detail });
    const isTaken = to !== 'path' || template.includes(`{${target}}`);
    if (value === undefined) {
      if (isTaken && (to === 'path' || to === 'header')) refuse('required', 'is required');
      continue;
    }
    if (!isTaken) refuse('oneOf', `must not be combined with ${when}`);
    const checked = Array.isArray(value) ? value.slice(0, MAX_CHECKED) : value;
    const { validate } = rules;
    if (validate && !validate(checked)) {
      const place = { name, in: 'query', hasCommas: false } as const;
      violations.push(...violationsOf({ ...rules, ...place, validate }, checked));
    } else if (to === 'path') inPath[target] = `${value}`;
    else if (to === 'query') for (const each of [value].flat()) query.append(target, `${each}`);
    // Quotes are a burden in JSON. What no tag has is left out: it could end the tag.
    else if (to === 'header') headers[target] = `"${`${value}`.replace(/[^!#-~]/g, '')}"`;
    else if (to === 'body') body[target] = value;
    else offset = Number(value);
  }
  if (violations.length > 0) throw validationFailed(violations);
  const pathNames = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const pathValues = pathNames.map((name) => inPath[name] ?? '');
  return { call: { method, pathValues, query: `${query}`, headers, body }, inPath, offset };
}
