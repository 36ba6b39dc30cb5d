// What a schema finds wrong, told to those who sent it.
import type { Violation } from '../http/problem.ts';
import type { Body, SchemaError } from './generated.js';

/** How much of an array is looked at for the list of violations; a refused array may have half a million members. */
const MEMBERS_LISTED = 100;

/** How many violations are told in words. */
const TOLD = 3;

/** Returns the first of the violations, and how many more there are, as a sentence. */
export function inWords(violations: readonly Violation[]): string {
  const told = violations.slice(0, TOLD).map((each) => `${each.field || 'The body'} ${each.detail}`);
  const rest = violations.length - told.length;
  return `${[...told, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')}.`;
}

/** Returns everything that `value` violates of what a body must be. */
export function violationsOf(body: Body, value: unknown): Violation[] {
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

/** Returns what a violated rule asks for, as the end of a sentence. */
export function explain({ keyword, params, message = 'is not valid' }: SchemaError): string {
  if (keyword === 'pattern' && params.pattern === '\\S') return 'must not be blank';
  if (keyword === 'format' && params.format === 'well-formed') return 'must be valid Unicode, without lone surrogates';
  return message;
}
