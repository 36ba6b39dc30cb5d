// The HTTP client of the tests. It validates every answer against the contract.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { assertFitsContract } from './contract.ts';

/** How long a connection may be silent; the longest poll takes half as long. */
const MAX_SILENCE_MS = 60_000;

/** The parts of a request beside its method and path. */
export interface RequestParts {
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Keeps connections open between requests. Without it each request opens one. */
  readonly agent?: Agent;
  /** The Unix socket of the service; host and port of the URL do not count then. */
  readonly socketPath?: string | undefined;
}

/** An answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed body, an array for JSON lines; undefined if it is not JSON or there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: the contract check has just verified its shape.
  readonly json: any;
}

/** Sends a request to the service at `url`. Rejects if the contract does not declare the answer. */
export async function request(
  url: string,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Answer> {
  const answer = await send(url, method, path, parts);
  assertFitsContract(method, path, answer);
  return answer;
}

/** Sends a request to any server, without the contract. */
export async function send(
  url: string,
  method: string,
  path: string,
  { json, body, headers = {}, agent, socketPath }: RequestParts = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  // A URL writes an IPv6 address in brackets.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const content = json === undefined ? body : JSON.stringify(json);
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  const length = content === undefined ? {} : { 'content-length': Buffer.byteLength(content) };
  const fields = { ...type, ...length, ...headers };
  const place = socketPath === undefined ? { host, port } : { socketPath };
  const sent = httpRequest({ ...place, method, path, headers: fields, agent: agent ?? false });
  sent.setTimeout(MAX_SILENCE_MS, () => {
    sent.destroy(new Error(`${method} ${path}: no answer within ${MAX_SILENCE_MS} ms`));
  });
  // If the connection breaks after the head, the response fails as well.
  sent.on('error', () => {});
  sent.end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // It would not end.
  if (response.headers['content-type'] === 'text/event-stream' && method !== 'HEAD') {
    sent.destroy();
    assert.fail(`${method} ${path}: expected an answer with an end, got a stream`);
  }
  return readAnswer(response);
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const bytes = Buffer.concat(await response.toArray());
  const { statusCode: status = 0, headers } = response;
  const text = decompress(bytes, headers['content-encoding']).toString('utf8');
  return {
    status,
    headers,
    bytes,
    text,
    json: text === '' ? undefined : parse(text, String(headers['content-type'])),
  };
}

function parse(text: string, type: string): unknown {
  if (type === 'application/x-ndjson') return JSON.parse(`[${text.trimEnd().split('\n')}]`);
  return /json/.test(type) ? JSON.parse(text) : undefined;
}

function decompress(bytes: Buffer, coding: string | undefined): Buffer {
  if (bytes.length === 0) return bytes;
  if (coding === 'br') return brotliDecompressSync(bytes);
  return coding === 'gzip' ? gunzipSync(bytes) : bytes;
}

/** Whether a request failed because its connection broke. */
export function brokenConnection(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code);
}
