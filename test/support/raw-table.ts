// Tables of requests, byte for byte, with the answers that are right: the parts they are made of, and what runs them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProblemSlug, problemTypes } from '../../src/http/problem.ts';
import { assertAlive, assertProblem, exchange, type RawAnswer } from './raw.ts';
import { startService } from './service.ts';

const ALIVE_WITHIN_MS = 1_000;

/**
 * What is sent, by what is odd about it, and what may answer it: a problem, or the status of another answer. There is
 * more than one where the RFC leaves it open and the parsers of Node's versions differ.
 */
export type RawTable = Readonly<
  Record<string, readonly [bytes: string | Buffer, ...answers: readonly (ProblemSlug | number)[]]>
>;

export const HOST = 'Host: localhost\r\n';
export const CLOSE = 'Connection: close\r\n';
export const NOTE = '{"title":"a","body":"b"}';

/** A GET of a request line and the lines of `headers`, and nothing else. */
export function bare(headers: string, target = '/notes', version = 'HTTP/1.1'): string {
  return `GET ${target} ${version}\r\n${headers}\r\n`;
}

/** A GET that is right but for what is in `headers` (lines with their ends), its target or its version. */
export function get(headers = '', target?: string, version?: string): string {
  return bare(HOST + CLOSE + headers, target, version);
}

/** A request without body that is right but for its method. */
export function call(method: string, headers = '', target = '/notes'): string {
  return `${method} ${target} HTTP/1.1\r\n${HOST}${CLOSE}${headers}\r\n`;
}

/** A POST that is right but for what is in `headers` and `body`; its framing is theirs. */
export function post(headers: string, body = ''): string {
  return `${call('POST', headers)}${body}`;
}

/** A POST that is right but for its chunked `body` and what is in `headers`. */
export function chunked(body: string, headers = ''): string {
  return post(`Transfer-Encoding: chunked\r\n${headers}`, body);
}

/** `text` as bytes, each character one of them. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/**
 * Makes a test of a table: each request gets exactly one answer, which is right, and a problem if it is an error; its
 * connection is closed, nothing of it is stored unless the answer says so, and others are answered within a second.
 */
export function testTable(title: string, table: RawTable): void {
  test(title, async (t) => {
    const service = await startService(t);
    let stored = 0;
    let slowest = 0;
    for (const [name, [sent, ...answers]] of Object.entries(table)) {
      await t.test(name, async () => {
        const answer = await exchange(service, sent);
        assertRight(answer, answers, /^HEAD /.test(String(sent)));
        if (answer.status === 201) stored += 1;
        const started = performance.now();
        await assertAlive(service);

        slowest = Math.max(slowest, performance.now() - started);
      });
    }
    t.diagnostic(`${Object.keys(table).length} requests; the slowest GET after one took ${slowest.toFixed(1)} ms`);
    assert.ok(slowest < ALIVE_WITHIN_MS);
    assert.equal((await service.request('GET', '/notes')).json.total, stored, 'something was stored on the quiet');
    assert.deepEqual(
      service.log.filter(({ level }) => level === 'error'),
      [],
    );
  });
}

function assertRight(answer: RawAnswer, allowed: readonly (ProblemSlug | number)[], toHead: boolean): void {
  const right = allowed.find((each) => answer.status === (typeof each === 'number' ? each : problemTypes[each].status));
  assert.ok(right, `${answer.status} ${answer.body}`);
  assert.equal(answer.headers.connection?.toLowerCase(), 'close');
  if (answer.status === 405) assert.match(answer.headers.allow ?? '', /OPTIONS/);
  if (typeof right === 'number') return;
  assert.ok(answer.status < 500 || answer.status === 501 || answer.status === 505);
  if (toHead) assert.equal(answer.body, '');
  else assertProblem(answer, right);
}
