// The problems of the contract are those of the service: type, status, title and meaning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROBLEM_SLUGS } from '../../src/docs/problem-list.ts';
import { type ProblemSlug, problemTitle, problemTypes } from '../../src/http/problem.ts';
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

/** Returns the problems that are examples of a response, with their descriptions. */
function problemsOf({ content, description }: Response): [ProblemSlug, string][] {
  const { examples = {} } = content?.['application/problem+json'] ?? {};
  return Object.values(examples).map(({ value: { type, title, status }, ...example }) => {
    const slug = PROBLEM_SLUGS.find((each) => type === `http://127.0.0.1:3000/problems/${each}`);
    assert.ok(slug, type);
    assert.deepEqual([title, status], [problemTitle(slug), problemTypes[slug].status], type);
    return [slug, example.description ?? description];
  });
}

test('problems: each has an example in a shared response, described by its meaning', () => {
  const responses = Object.values(contract.components.responses as Record<string, Response>);
  const described = responses.flatMap(problemsOf);
  for (const [slug, description] of described) {
    assert.equal(description, problemTypes[slug].meaning, slug);
  }
  const slugs = new Set(described.map(([slug]) => slug));
  assert.deepEqual([...slugs].sort(), [...PROBLEM_SLUGS].sort());
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
        for (const [slug] of problemsOf(at(target) as Response)) {
          assert.equal(String(problemTypes[slug].status), status, pointer);
          found += 1;
        }
      }
      if (method !== 'parameters') assert.ok('default' in responses, `${method} ${template}`);
    }
  }
  assert.ok(found > 70, String(found));
});

test('problems: the example of an explanation is the real one', () => {
  const { status, meaning, remedy } = problemTypes['not-found'];
  const explained = '/paths/~1problems~1{slug}/get/responses/200/content/application~1json';
  assert.deepEqual(at(`${explained}/examples/notFound/value`), {
    slug: 'not-found',
    status,
    title: problemTitle('not-found'),
    description: `${meaning} ${remedy}`,
  });
});
