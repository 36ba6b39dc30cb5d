// The type of tables of raw requests with their correct answers, and a function that tests them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROBLEM_STATUS, type ProblemSlug } from '../../src/http/problem.ts';
import { assertAlive, assertProblem, exchange, type RawAnswer } from './raw.ts';
import { assertNoErrors, type Service } from './service.ts';

/** Requests by their correct answers ("or" where parsers differ) and by what is odd about them. */
export type RawTable = Readonly<Record<string | number, Readonly<Record<string, string | Buffer>>>>;

/** Returns requests that differ in one text, by that text. */
export function each(
  requestWith: (text: string) => string | Buffer,
  ...texts: readonly string[]
): Record<string, string | Buffer> {
  return Object.fromEntries(
    texts.map((text) => [JSON.stringify(text).slice(0, 60), requestWith(text)]),
  );
}

/** Tests `table`: each request gets exactly one correct answer, and nothing else happens. */
export function testTable(service: Service, feature: string, title: string, table: RawTable): void {
  test(`${feature}: ${title}`, async (t) => {
    const total = async () => (await service.request('GET', '/notes')).json.total;
    let stored = await total();
    for (const [answers, requests] of Object.entries(table)) {
      for (const [name, sent] of Object.entries(requests)) {
        await t.test(`${feature}: ${name}`, async () => {
          const answer = await exchange(service, sent);
          assertCorrect(answer, answers.split(' or '), /^HEAD /.test(String(sent)));
          if (answer.status === 201) stored += 1;
        });
      }
    }
    await assertAlive(service);
    assert.equal(
      await total(),
      stored,
      'a request stored a note although its answer does not say so',
    );
    assertNoErrors(service);
  });
}

function assertCorrect(answer: RawAnswer, allowed: readonly string[], toHead: boolean): void {
  const statusOf = (each: string) => Object(PROBLEM_STATUS)[each] ?? Number(each);
  const correct = allowed.find((each) => answer.status === statusOf(each));
  assert.ok(correct, `${answer.status} ${answer.body}`);
  assert.equal(answer.headers.connection?.toLowerCase(), 'close');
  if (answer.status === 405) assert.match(answer.headers.allow ?? '', /OPTIONS/);
  if (!(correct in PROBLEM_STATUS)) return;
  assert.ok(answer.status < 500 || answer.status === 501 || answer.status === 505);
  if (toHead) assert.equal(answer.body, '');
  else assertProblem(answer, correct as ProblemSlug);
}
