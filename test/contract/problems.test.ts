// The problems of the contract are those of the service: type, status, title and meaning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROBLEM_SLUGS } from '../../src/docs/problem-list.ts';
import { type ProblemSlug, problemTitle, problemTypes } from '../../src/http/problem.ts';
import { at, contract, resolve } from '../support/contract.ts';

interface Response {
  readonly description: string;
  readonly content?: Readonly<
    Record<string, { readonly examples: Readonly<Record<string, Example>> }>
  >;
}

interface Example {
  readonly value: { readonly type: string; readonly title: string; readonly status: number };
}

/** Returns the types of the problems that are examples of a response. */
function slugsOf({ content }: Response): ProblemSlug[] {
  const { examples = {} } = content?.['application/problem+json'] ?? {};
  const slugs = Object.values(examples).map(({ value: { type, title, status } }) => {
    const slug = PROBLEM_SLUGS.find((each) => type === `http://127.0.0.1:3000/problems/${each}`);
    assert.ok(slug, type);
    assert.deepEqual([title, status], [problemTitle(slug), problemTypes[slug].status], type);
    return slug;
  });
  return [...new Set(slugs)];
}

test('problems: each has one shared response, described by its meaning', () => {
  const responses = Object.values(contract.components.responses as Record<string, Response>);
  const described = responses.flatMap((response) =>
    slugsOf(response).map((slug) => [slug, response.description]),
  );
  assert.deepEqual(
    described.sort(),
    PROBLEM_SLUGS.map((slug) => [slug, problemTypes[slug].meaning]).sort(),
  );
});

test('problems: operations declare them under their status', () => {
  let found = 0;
  for (const [template, item] of Object.entries(contract.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const { responses = {} } = operation as { responses?: object };
      for (const status of Object.keys(responses)) {
        const pointer = `/paths/${template.replaceAll('/', '~1')}/${method}/responses/${status}`;
        const statuses = slugsOf(at(resolve(pointer) ?? '') as Response).map(
          (slug) => problemTypes[slug].status,
        );
        assert.deepEqual(statuses, statuses.length > 0 ? [Number(status)] : [], pointer);
        found += statuses.length;
      }
    }
  }
  assert.ok(found > 100, String(found));
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
