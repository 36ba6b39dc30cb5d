// The raw-bytes client of the tests. It sends bytes that no client library would send, and parses
// answers strictly enough to detect a wrong length, a second answer or a reset, which a library
// would hide.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { PROBLEM_STATUS, type ProblemSlug, type Violation } from '../../src/http/problem.ts';
import { validatorAt } from './contract.ts';
import { until } from './until.ts';

/** Bounds a wait that would otherwise never end. */
const PATIENCE_MS = 30_000;

/** The header line that names the host. */
export const HOST = 'Host: localhost\r\n';
/** The header line that asks the service to close the connection. */
export const CLOSE = 'Connection: close\r\n';
/** The JSON of a valid note, 24 bytes long. */
export const NOTE = '{"title":"a","body":"b"}';

/** An answer, parsed from its bytes. Interim ones (100) count as answers too. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The members of a problem. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly Violation[];
}

/** A bare connection to a service. */
export interface Conversation {
  readonly socket: Socket;
  /** Resolves with the next answer to `method`; rejects if the connection ends before. */
  answer(method?: string): Promise<RawAnswer>;
  /** Resolves when the service has closed the connection, without a reset or more bytes. */
  closed(): Promise<void>;
  /** Resolves with all answers up to the end of the connection; rejects if one is incomplete. */
  rest(): Promise<RawAnswer[]>;
}

/** Where a service listens; the connections come from `localAddress`, by default 127.0.0.1. */
interface Place {
  readonly port: number;
  readonly localAddress?: string;
}

/** Opens a connection, sends `parts` over it and leaves it open. */
export async function converse(
  service: Place,
  ...parts: (string | Buffer)[]
): Promise<Conversation> {
  const socket = await openSocket(service);
  let received = Buffer.alloc(0);
  let fault: NodeJS.ErrnoException | undefined;
  socket.on('error', (error) => {
    fault = error;
  });
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  for (const part of parts) socket.write(part);

  /** Resolves with the first result of `look`, which is called after each change. */
  function seen<Found>(what: string, look: () => Found | undefined): Promise<Found> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(fail(`no ${what} in time`))), PATIENCE_MS);
      const text = () => JSON.stringify(received.toString('latin1').slice(0, 500));
      const fail = (problem: string) =>
        new Error(`${problem}: ${fault?.code ?? 'no error'}, ${text()}`);
      function settle(outcome: () => void): void {
        clearTimeout(timer);
        socket.off('data', check).off('close', check);
        outcome();
      }
      function check(): void {
        try {
          const found = look();
          if (found !== undefined) settle(() => resolve(found));
          else if (socket.closed)
            settle(() => reject(fail(`the connection ended without ${what}`)));
        } catch (error) {
          settle(() => reject(error));
        }
      }
      socket.on('data', check).on('close', check);
      check();
    });
  }

  return {
    socket,
    answer(method) {
      return seen('answer', () => {
        const taken = takeAnswer(received, method);
        if (taken) received = received.subarray(taken.length);
        return taken?.answer;
      });
    },
    async rest() {
      await seen('end', () => socket.closed || undefined);
      const answers: RawAnswer[] = [];
      for (let taken = takeAnswer(received); taken; taken = takeAnswer(received)) {
        answers.push(taken.answer);
        received = received.subarray(taken.length);
      }
      assert.equal(received.toString('latin1'), '');
      return answers;
    },
    async closed() {
      await seen('end', () => socket.closed || undefined);
      assert.equal(received.toString('latin1'), '', 'bytes behind the answers');
      assert.equal(fault, undefined, 'the connection was reset');
    },
  };
}

/** Sends `parts` over a new connection; resolves with the one answer, which must end it. */
export async function exchange(
  service: { port: number },
  ...parts: (string | Buffer)[]
): Promise<RawAnswer> {
  const conversation = await converse(service, ...parts);
  const answer = await conversation.answer(/^HEAD /.test(String(parts[0])) ? 'HEAD' : undefined);
  await conversation.closed();
  return answer;
}

/** Sends `head` and `body` before it reads anything; resolves with the answer. Fails at a reset. */
export async function sendThenRead(
  { port }: { port: number },
  head: string,
  body: Buffer,
  pauseMs = 0,
): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1').pause();
  const received: Buffer[] = [];
  socket.on('data', (data) => received.push(data));
  const closed = once(socket.pause(), 'close');
  const write = (part: string | Buffer) =>
    new Promise((resolve, reject) => {
      socket.write(part, (error) => (error ? reject(error) : resolve(undefined)));
    });
  await write(head);
  for (let start = 0; start < body.length; start += 65_536) {
    await write(body.subarray(start, start + 65_536));
    if (pauseMs > 0) await delay(pauseMs);
  }
  socket.resume();
  const method = /^HEAD /.test(head) ? 'HEAD' : undefined;
  let taken: ReturnType<typeof takeAnswer>;
  await until(() => {
    taken = takeAnswer(Buffer.concat(received), method);
    return taken !== undefined || socket.errored !== null;
  });
  const { answer } = taken ?? assert.fail('the connection was reset');
  if (answer.headers.connection !== 'close') socket.destroy();
  await closed;
  assert.equal(socket.errored, null, 'the connection was reset');
  return answer;
}

/** Sends a request without a body that asks the service to close the connection. */
export function exchangeLast(service: { port: number }, line: string): Promise<RawAnswer> {
  return exchange(service, requestText(line, ['connection: close']));
}

/** A request with a host and the length of its `body`; `headers` are lines without ends. */
export function requestText(line: string, headers: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  return [`${line} HTTP/1.1`, 'host: localhost', ...headers, ...length, '', body].join('\r\n');
}

/** The text of a request with a host and a complete chunked body made of `parts`. */
export function chunkedText(line: string, headers: readonly string[], ...parts: string[]): string {
  const head = requestText(line, [...headers, 'transfer-encoding: chunked']);
  return `${head}${parts.map(chunk).join('')}0\r\n\r\n`;
}

/** `data` as one chunk of a chunked body, without the last, empty one. */
export function chunk(data: string): string {
  return `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;
}

// The rest of the builders write exactly what they are given: `headers` are lines with their ends.

/** A GET of a request line and `headers`, without a host. */
export function bare(headers: string, target = '/notes', version = 'HTTP/1.1'): string {
  return `GET ${target} ${version}\r\n${headers}\r\n`;
}

/** A GET with a host that closes the connection. */
export function get(headers = '', target?: string, version?: string): string {
  return bare(HOST + CLOSE + headers, target, version);
}

/** A request with a host that closes the connection, without a body. */
export function call(method: string, headers = '', target = '/notes'): string {
  return `${method} ${target} HTTP/1.1\r\n${HOST}${CLOSE}${headers}\r\n`;
}

/** A POST with a host that closes the connection. `headers` have to frame its body. */
export function post(headers: string, body = ''): string {
  return `${call('POST', headers)}${body}`;
}

/** A POST with a host that closes the connection, and a body whose chunks are written out. */
export function chunked(body: string, headers = ''): string {
  return post(`Transfer-Encoding: chunked\r\n${headers}`, body);
}

/** `text` as bytes, one for each character. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** Asserts that the service answers a plain GET on a new connection. */
export async function assertAlive(service: { port: number }): Promise<void> {
  assert.equal((await exchangeLast(service, 'GET /notes')).status, 200);
}

/** Asserts that `answer` is a complete Problem of the type `slug`, and returns its members. */
export function assertProblem(answer: RawAnswer, slug: ProblemSlug): ProblemBody {
  const label = JSON.stringify(answer).slice(0, 500);
  assert.equal(answer.status, PROBLEM_STATUS[slug], label);
  assert.equal(answer.headers['content-type'], 'application/problem+json', label);
  assert.equal(answer.headers['cache-control'], 'no-store', label);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff', label);
  assert.match(answer.headers['x-request-id'] ?? '', /^[A-Za-z0-9._-]{1,128}$/, label);
  assert.ok(!Number.isNaN(Date.parse(answer.headers.date ?? '')), label);
  const problem: ProblemBody = JSON.parse(answer.body);
  const validate = validatorAt(
    `/components/schemas/${slug === 'validation-failed' ? 'ValidationProblem' : 'Problem'}`,
  );
  assert.ok(validate(problem), label);
  assert.equal(new URL(problem.type).pathname, `/problems/${slug}`, label);
  assert.equal(problem.status, answer.status, label);
  assert.equal(problem.title, STATUS_CODES[problem.status], label);
  return problem;
}

/** Parses the answer at the start of `bytes`: undefined if incomplete. Fails if malformed. */
export function takeAnswer(
  bytes: Buffer,
  method?: string,
): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [, code] =
    /^HTTP\/1\.1 (\d{3}) [\w -]+$/.exec(first) ?? assert.fail(`not a status line: ${first}`);
  const status = Number(code);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] =
      /^([\w-]+): (.*)$/.exec(line) ?? assert.fail(`not a header line: ${line}`);
    const key = String(name).toLowerCase();
    assert.ok(!(key in headers), `duplicate ${key}: ${lines}`);
    headers[key] = String(value);
  }
  const bodiless = status < 200 || status === 204 || status === 304;
  assert.equal('content-length' in headers, !bodiless, `the framing of ${status}: ${lines}`);
  assert.ok(!('transfer-encoding' in headers), String(lines));
  const bodyLength = bodiless || method === 'HEAD' ? 0 : Number(headers['content-length']);
  const length = end + 4 + bodyLength;
  if (bytes.length < length) return undefined;
  return { answer: { status, headers, body: bytes.toString('utf8', end + 4, length) }, length };
}

/** Opens a bare connection to the service. */
export async function openSocket(place: Place): Promise<Socket> {
  const socket = connect({ ...place, host: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
}

/** Resolves once the service refuses connections. */
export function refusal(service: { port: number }): Promise<void> {
  return until(async () => {
    const attempt = openSocket(service).then((socket) => void socket.destroy());
    // A connection made at the last moment is reset.
    return (await attempt.catch(({ code }) => code)) === 'ECONNREFUSED';
  });
}

/** Reads from a bare connection until the service closes it. A reset counts as closing. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}
