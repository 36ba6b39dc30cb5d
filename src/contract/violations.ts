// Turns the errors of the compiled schemas into the violations that a 422 reports.
import type { Violation } from '../http/problem.ts';
import type { BodyFormat } from '../http/route.ts';
import { suggestion } from '../suggestion.ts';
import type { BodyValidators, Parameter, SchemaError } from './generated.js';

const MAX_DESCRIBED = 3;

/** Beyond this many members of an array, violations are not looked for. */
const MAX_MEMBERS = 100;

/** A small request with many or long unknown names must not cause a large answer. */
const MAX_UNKNOWN = 10;
const MAX_NAME_LENGTH = 64;

/** Returns a sentence with the first violations, at most `most`, and the number of the others. */
export function describeViolations(all: readonly Violation[], most = MAX_DESCRIBED): string {
  const shown = all
    .slice(0, most)
    .map((each) => `${each.field || (each.code === 'unknown' ? '""' : 'The body')} ${each.detail}`);
  const rest = all.length - shown.length;
  if (rest > 0) shown.push(`and ${rest} more`);
  return `${shown.join('; ')}.`.replace(/\?[;.]/g, '?');
}

/** Reports an unknown parameter, or member of the object `at` (a JSON Pointer), up to a limit. */
export function reportUnknown(
  violations: Violation[],
  name: string,
  names: readonly string[],
  at?: string,
): void {
  if (violations.length >= MAX_UNKNOWN) return;
  const isShort = name.length <= MAX_NAME_LENGTH;
  const shown = (isShort ? name : `${name.slice(0, MAX_NAME_LENGTH)}…`).toWellFormed();
  // A part of a JSON Pointer in a URI fragment (RFC 6901, section 6).
  const token = name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
  const pointer = `#${at}${isShort ? `/${encodeURIComponent(token)}` : ''}`;
  violations.push({
    field: at ? `${at.slice(1)}.${shown}` : shown,
    ...(at === undefined ? { in: 'query' } : { in: 'body', pointer }),
    code: 'unknown',
    // Some clients write `tag[]` or `tag[0]` for one of several values.
    detail: `is not known${suggestion(shown.replace(/\[.*/, ''), names)}`,
  });
}

/** Returns the violations of `value`, which `body.validate` has just refused. */
export function findViolations(body: BodyValidators, value: unknown, isJson = true): Violation[] {
  const errors = body.validateFully(shorten(value)) ? [] : body.validateFully.errors;
  // The violation may be in the part that was cut off.
  return onePerFault((errors?.length ? errors : body.validate.errors) ?? []).map((error) =>
    toViolation(error, isJson),
  );
}

/** Returns the violations of the value of a parameter, which its validator has just refused. */
export function violationsOf(parameter: Parameter, value: unknown): Violation[] {
  const { name: field, in: place, rule, validate } = parameter;
  const violations = onePerFault(validate.errors ?? []).map((error): [string, Violation] => {
    const item = Array.isArray(value) ? value[Number(error.instancePath.slice(1))] : undefined;
    const { allowedValues: names } = error.params;
    const hint = Array.isArray(names) && typeof item === 'string' ? suggestion(item, names) : '';
    const detail = `${describeRule(error, rule)}${hint}`;
    return [detail, { field, in: place, code: codeOf(error), detail }];
  });
  // Several items may violate one rule.
  return [...new Map(violations).values()];
}

/** Drops the other errors of a value that is empty or of the wrong type. */
function onePerFault(errors: readonly SchemaError[]): SchemaError[] {
  const isDecisive = ({ keyword }: SchemaError) => keyword === 'type' || keyword === 'minLength';
  const settled = new Set(errors.filter(isDecisive).map(({ instancePath }) => instancePath));
  return errors.filter((each) => isDecisive(each) || !settled.has(each.instancePath));
}

/** Cuts arrays, because collecting the violations of half a million members takes too long. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    Array.isArray(member) ? member.slice(0, MAX_MEMBERS) : member,
  ]);
  return Object.fromEntries(members);
}

function toViolation(error: SchemaError, isJson: boolean): Violation {
  const missing = error.keyword === 'required' ? `/${error.params.missingProperty}` : '';
  const path = `${error.instancePath}${missing}`;
  return violationAt(path, codeOf(error), describeRule(error), isJson);
}

/** A keyword of our own may stand for several rules. */
function codeOf({ params: { code }, keyword }: SchemaError): string {
  return typeof code === 'string' ? code : keyword;
}

/** Returns the JSON Pointer of the body of a row: a line of a bulk request, or the only body. */
export function rowPointer(row: number, format: BodyFormat): string {
  return format === 'lines' ? `/${row}` : '';
}

/** Returns a violation at `path` in a body, a JSON Pointer without characters to escape. */
export function violationAt(path: string, code: string, detail: string, isJson = true): Violation {
  return {
    field: path.slice(1).replaceAll('/', '.'),
    in: 'body',
    // No pointer leads into a text.
    ...(isJson && { pointer: `#${path}` }),
    code,
    detail,
  };
}

const RULES: Readonly<Record<string, (params: SchemaError['params']) => string>> = {
  required: () => 'is required',
  type: ({ type }) =>
    `must be ${/^[aio]/.test(`${type}`) ? 'an' : 'a'} ${[type].flat().join(' or ')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  minItems: ({ limit }) => `must have at least ${limit} item${limit === 1 ? '' : 's'}`,
  maxItems: ({ limit }) => `must have at most ${limit} items`,
  uniqueItems: () => 'must not contain an item twice',
  enum: ({ allowedValues: all }) =>
    `must be ${[all].flat().length > 1 ? 'one of ' : ''}${JSON.stringify(all).slice(1, -1)}`,
  format: () => 'must be valid Unicode, without lone surrogates',
};

/** Returns what a violated rule requires, as the end of a sentence; `valid` describes a value. */
function describeRule({ keyword, params, message }: SchemaError, valid?: string): string {
  // The pattern of texts that are not blank ends with \S.
  if (`${params.pattern}`.endsWith('\\S')) return 'must not be blank';
  if (params.format === 'date-time')
    return `must be ${valid ?? 'a time (RFC 3339), such as 2026-11-22T09:30:00Z'}`;
  if (keyword === 'pattern') return valid ? `must be ${valid}` : 'does not have the right form';
  return RULES[keyword]?.(params) ?? message ?? 'is not valid';
}
