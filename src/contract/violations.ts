// Turns the errors of the compiled schemas into the violations that a 422 reports.
import type { Violation } from '../http/problem.ts';
import type { BodyValidators, SchemaError } from './generated.js';

/** Violations are listed only for this many members of an array, which may have half a million. */
const MAX_MEMBERS = 100;

/** How many violations a sentence describes. */
const MAX_DESCRIBED = 3;

/** Returns a sentence with the first violations and the number of the others. */
export function describeViolations(violations: readonly Violation[]): string {
  const shown = violations
    .slice(0, MAX_DESCRIBED)
    .map((each) => `${each.field || 'The body'} ${each.detail}`);
  const rest = violations.length - shown.length;
  return `${[...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')}.`;
}

/** Returns the violations of `value`, which `body.validate` has just refused. */
export function findViolations(body: BodyValidators, value: unknown): Violation[] {
  const errors = body.validateFully(shorten(value)) ? [] : body.validateFully.errors;
  // The violation may be in the part that was cut off.
  return onePerFault((errors?.length ? errors : (body.validate.errors ?? [])).map(toViolation));
}

/** Drops the other violations of a member that is empty or of the wrong type. */
function onePerFault(violations: readonly Violation[]): Violation[] {
  const isDecisive = ({ code }: Violation) => code === 'type' || code === 'minLength';
  const settled = new Set(violations.filter(isDecisive).map(({ pointer }) => pointer));
  return violations.filter((each) => isDecisive(each) || !settled.has(each.pointer));
}

/** Cuts long arrays, because collecting all violations of a large input would take too long. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    Array.isArray(member) ? member.slice(0, MAX_MEMBERS) : member,
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
    detail: describeRule(error),
  };
}

/** Returns what a violated rule requires, as the end of a sentence: `must be ...`. */
export function describeRule({ keyword, params, message = 'is not valid' }: SchemaError): string {
  const { limit, type, pattern, allowedValues } = params;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return `must be ${/^[aio]/.test(`${type}`) ? 'an' : 'a'} ${type}`;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters`;
    case 'minItems':
      return `must have at least ${limit} item${limit === 1 ? '' : 's'}`;
    case 'maxItems':
      return `must have at most ${limit} items`;
    case 'uniqueItems':
      return 'must not contain an item twice';
    case 'enum':
      return `must be one of ${JSON.stringify(allowedValues).slice(1, -1)}`;
    case 'format':
      return 'must be valid Unicode, without lone surrogates';
    default:
      // The pattern of texts that are not blank ends with \S.
      return `${pattern}`.endsWith('\\S') ? 'must not be blank' : message;
  }
}
