// Records that come by another way than a request are held against the same schemas.
import { operations } from './generated.js';
import { inWords, violationsOf } from './violations.ts';

/**
 * Returns what tells, of a value, why it could not be sent to create a record in the list at the path `template`; undefined if
 * it could. Throws if the contract has no such operation.
 */
export function recordCheck(template: string): (value: unknown) => string | undefined {
  const body = operations.find((each) => each.method === 'POST' && each.template === template)?.body;
  if (!body) throw new Error(`the contract has no records at ${template}`);
  return (value) => (body.first(value) ? undefined : inWords(violationsOf(body, value)));
}
