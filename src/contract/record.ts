// Validates records that do not come from a request, such as those of an import, against the same
// schemas.
import { operations } from './generated.js';
import { describeViolations, findViolations } from './violations.ts';

/**
 * Returns a function that says why a value could not be sent to create a record at the path
 * `template`; undefined if it could. Throws if the contract has no such operation.
 */
export function recordCheck(template: string): (value: unknown) => string | undefined {
  const body = operations.find(
    (each) => each.method === 'POST' && each.template === template,
  )?.body;
  if (!body) throw new Error(`the contract has no records at ${template}`);
  return (value) =>
    body.first(value) ? undefined : describeViolations(findViolations(body, value));
}
