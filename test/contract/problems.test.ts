// The problems of the contract: each type has its texts and its status, operations declare their
// own, and all examples of a type agree.
import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { test } from 'node:test';
import { type ProblemType, problems } from '../../src/contract/generated.js';
import { PROBLEM_STATUS } from '../../src/http/problem.ts';
import { at, contract, resolve } from '../support/contract.ts';

const DEFAULT = '/components/responses/ProblemResponse';

interface Response {
  readonly description: string;
  readonly content?: Readonly<
    Record<string, { readonly examples: Readonly<Record<string, Example>> }>
  >;
}

interface Example {
  readonly description?: string;
  readonly value: { readonly type: string; readonly title: string; readonly status: number };
}

/** Returns the problem types that are examples of a response, with the meanings that it gives. */
function problemsOf({ content, description }: Response): (readonly [ProblemType, string])[] {
  const { examples = {} } = content?.['application/problem+json'] ?? {};
  return Object.values(examples).map(({ value: { type, title, status }, ...example }) => {
    const problem = problems.find(({ slug }) => type === `http://127.0.0.1:3000/problems/${slug}`);
    assert.ok(problem, type);
    assert.deepEqual([title, status], [STATUS_CODES[problem.status], problem.status], type);
    return [problem, example.description ?? description];
  });
}

test('problems: each type has an example with `x-remedy`, and its status', () => {
  const statuses = Object.fromEntries(problems.map(({ slug, status }) => [slug, status]));
  assert.deepEqual(statuses, PROBLEM_STATUS);
});

test('problems: all examples of a type have its title and meaning', () => {
  const responses = Object.values(contract.components.responses as Record<string, Response>);
  for (const [{ slug, meaning }, described] of responses.flatMap(problemsOf))
    assert.equal(described, meaning, slug);
});

test('problems: operations declare their own under their status, the others as default', () => {
  let found = 0;
  for (const [template, item] of Object.entries(contract.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const { responses = {} } = operation as { responses?: object };
      for (const status of Object.keys(responses)) {
        const pointer = `/paths/${template.replaceAll('/', '~1')}/${method}/responses/${status}`;
        const target = resolve(pointer) ?? '';
        assert.equal(target === DEFAULT, status === 'default', pointer);
        if (target === DEFAULT) continue;
        for (const [problem] of problemsOf(at(target) as Response)) {
          assert.equal(String(problem.status), status, pointer);
          found += 1;
        }
      }
      if (method !== 'parameters') assert.ok('default' in responses, `${method} ${template}`);
    }
  }
  assert.ok(found > 70, String(found));
});

test('problems: the example of an explanation is the real one', () => {
  const explained = '/paths/~1problems~1{slug}/get/responses/200/content/application~1json';
  const example = at(`${explained}/examples/notFound/value`) as Record<string, unknown>;
  const { meaning, remedy } = problems.find(({ slug }) => slug === 'not-found') ?? assert.fail();
  assert.equal(example.slug, 'not-found');
  assert.equal(example.description, `${meaning} ${remedy}`);
});
