// Validates records that do not come from a request, such as those of an import.
import { operations } from './generated.js';
import { describeViolations, findViolations } from './violations.ts';

/**
 * Returns a function that validates a value as the body of a POST to `template`: it returns a
 * description of the violations, or undefined. Throws if the contract has no such operation.
 */
export function recordCheck(template: string): (value: unknown) => string | undefined {
  const create = operations.find((each) => each.method === 'POST' && each.template === template);
  const body = create?.body;
  if (!body) throw new Error(`the contract has no records at ${template}`);
  return (value) =>
    body.validate(value) ? undefined : describeViolations(findViolations(body, value));
}
