// Validates records that do not come from a request, such as those of an import.
import { operations } from './generated.js';
import { describeViolations, findViolations } from './violations.ts';

/** Returns a function that describes how a value violates the body of a POST to `template`. */
export function recordCheck(template: string): (value: unknown) => string | undefined {
  const create = operations.find((each) => each.method === 'POST' && each.template === template);
  const body = create?.body;
  if (!body) throw new Error(`the contract has no records at ${template}`);
  return (value) =>
    body.validate(value) ? undefined : describeViolations(findViolations(body, value));
}
