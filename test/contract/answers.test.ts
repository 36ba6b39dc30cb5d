// The check that every answer of the tests passes: it accepts what the contract declares, and the
// default response for the common problems only.
import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { test } from 'node:test';
import { PROBLEM_STATUS, type ProblemSlug } from '../../src/http/problem.ts';
import { assertFitsContract, at, contract } from '../support/contract.ts';
import type { Answer } from '../support/http.ts';

type Headers = Readonly<Record<string, string>>;

function answerWith(status: number, type: string, json: unknown, extra: Headers = {}): Answer {
  const bytes = Buffer.from(JSON.stringify(json));
  const headers = {
    'x-request-id': 'test',
    'x-content-type-options': 'nosniff',
    'content-type': type,
    'content-length': String(bytes.length),
    ...(status >= 400 ? { 'cache-control': 'no-store' } : {}),
    ...extra,
  };
  return { status, headers, bytes, text: bytes.toString(), json };
}

function problem(slug: ProblemSlug, headers: Headers = {}, changes: object = {}): Answer {
  const status = PROBLEM_STATUS[slug];
  const type = `http://127.0.0.1:3000/problems/${slug}`;
  const body = { type, title: STATUS_CODES[status], status, detail: 'Why.', ...changes };
  return answerWith(status, 'application/problem+json', body, headers);
}

const retry = { 'retry-after': '1' };

test('answers: those that the contract declares are accepted, no others', () => {
  const note = { id: 1, title: 'a', body: 'b' };
  for (const [method, path, answer, reason] of [
    ['GET', '/notes/1', problem('not-found')],
    ['GET', '/notes/1', problem('service-unavailable', retry)],
    ['GET', '/notes', problem('unauthorized', { 'www-authenticate': 'Bearer' })],
    ['GET', '/notes/1', answerWith(202, 'application/json', note), /declare this status/],
    ['GET', '/notes/1', answerWith(503, 'text/plain', 'no', retry), /media type/],
    ['GET', '/notes', problem('not-found'), /declare this status/],
    ['GET', '/docs', problem('unauthorized', { 'www-authenticate': 'Bearer' }), /this status/],
    ['GET', '/notes', problem('unauthorized'), /www-authenticate is missing/],
    ['GET', '/notes', problem('unauthorized', { 'www-authenticate': 'Basic' }), /must match/],
    ['GET', '/notes', problem('forbidden', {}, { status: 500 }), /500/],
    ['GET', '/notes', problem('forbidden', {}, { type: 'x:/problems/other' }), /other/],
    ['GET', '/notes', problem('forbidden', {}, { cause: 'secret' }), /additional/],
    ['GET', '/notes', problem('forbidden', { 'cache-control': 'public' }), /no-store/],
  ] as const) {
    const check = () => assertFitsContract(method, path, answer);
    if (reason) assert.throws(check, reason, String(reason));
    else check();
  }
});

/** Members that an answer may lack; lists and parts of records lack what a request leaves out. */
const OPTIONAL = [
  ...['Change.note_id', 'Change.comment_id', 'Change.tag_id', 'Change.record'],
  'Violation.pointer',
];

/** Adds the members that the values of a schema may lack, with the name of the schema. */
function addOptional(found: Set<string>, seen: Set<unknown>, schema: unknown, name: string): void {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return;
  seen.add(schema);
  const {
    $ref,
    required = [],
    properties = {},
  } = schema as {
    readonly $ref?: string;
    readonly required?: readonly string[];
    readonly properties?: object;
  };
  if ($ref) addOptional(found, seen, at($ref.slice(1)), $ref.replace(/.*\//, ''));
  for (const member of Object.keys(properties))
    if (!required.includes(member)) found.add(`${name}.${member}`);
  for (const inner of Object.values(schema)) addOptional(found, seen, inner, name);
}

test('answers: have every member but a few', () => {
  const found = new Set<string>();
  const responses = [contract.components.responses, contract.paths].map((each) =>
    JSON.parse(JSON.stringify(each), (name, value) =>
      /^(?:parameters|requestBody|example|examples|headers|links)$/.test(name) ? undefined : value,
    ),
  );
  addOptional(found, new Set(), responses, '');
  const ofWhole = [...found].filter((member) => !/^\w+(?:Part\.|List\.offset$)/.test(member));
  assert.deepEqual(ofWhole.sort(), OPTIONAL.sort());
});
