// Starts the real service on a free port with a real SQLite file in a temporary folder, and speaks HTTP to it.
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createApp } from '../../src/app.ts';
import { parseCommand } from '../../src/command-line.ts';
import type { Log } from '../../src/log.ts';
import type { Options } from '../../src/options.ts';
import { type Answer, assertFitsContract } from './contract.ts';
import { emptyDatabase } from './engine.ts';
import { until } from './until.ts';

/** What a request of a test may carry beside method and path. `json` is sent as JSON, `body` as it is. */
export interface RequestParts {
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** An answer with its JSON, if it is JSON. */
export interface JsonAnswer extends Answer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape the contract check has just proven.
  readonly json: any;
}

/** One line of the service's log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A running service. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** Its database, as `--db` names it: the path of a file, if the tests are not run on a cluster. */
  readonly file: string;
  readonly log: readonly LogLine[];
  /** Sends a request and resolves with the answer, which has been held against the contract. */
  request(method: string, path: string, parts?: RequestParts): Promise<JsonAnswer>;
  /** Stops the service; happens by itself at the end of the test. */
  close(): Promise<void>;
}

/** Returns the options the command line `args` would give, with a free port. */
export function optionsFor(...args: string[]): Options {
  const command = parseCommand(['--port', '0', ...args], {});
  if (command.kind !== 'serve') throw new Error('these arguments do not serve');
  return command.options;
}

/** Starts a service with `overrides`; without a `db` among them it gets a fresh one. */
export async function startService(
  test: Pick<TestContext, 'after'>,
  overrides: Partial<Options> = {},
): Promise<Service> {
  const { db: file, release } = overrides.db ? { db: overrides.db, release() {} } : await emptyDatabase(test);
  const lines: LogLine[] = [];
  const log: Log = {
    write: (level, message, fields = {}) => lines.push({ level, message, fields }),
    flush: () => {},
  };
  const app = createApp({ ...optionsFor(), ...overrides, db: file }, log);
  const url = await app.listen();
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  let closed: Promise<void> | undefined;

  const service: Service = {
    url,
    port: Number(new URL(url).port),
    file,
    log: lines,
    async request(method, path, parts = {}) {
      const answer = await send(agent, url, method, path, parts);
      assertFitsContract(method, path, answer);
      return answer;
    },
    close() {
      agent.destroy();
      closed ??= app.close();
      return closed;
    },
  };
  test.after(() => service.close().then(release));
  return service;
}

async function send(agent: Agent, url: string, method: string, path: string, parts: RequestParts): Promise<JsonAnswer> {
  const { hostname, port } = new URL(url);
  const body = parts.json === undefined ? parts.body : JSON.stringify(parts.json);
  const headers = { ...(parts.json === undefined ? {} : { 'content-type': 'application/json' }), ...parts.headers };
  const request = httpRequest({ agent, host: hostname, port, method, path, headers });
  if (body !== undefined) request.setHeader('content-length', Buffer.byteLength(body));
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = decode(bytes, response.headers['content-encoding']).toString('utf8');
  const isJson = /json/.test(String(response.headers['content-type']));
  const json = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, text, json };
}

function decode(bytes: Buffer, coding: string | undefined): Buffer {
  if (bytes.length === 0) return bytes;
  if (coding === 'br') return brotliDecompressSync(bytes);
  return coding === 'gzip' ? gunzipSync(bytes) : bytes;
}

/** Opens a bare connection to the service. */
export async function openSocket({ port }: Pick<Service, 'port'>): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Resolves once the service takes no more connections. */
export function refusal(service: Pick<Service, 'port'>): Promise<void> {
  return until(async () => {
    const attempt = openSocket(service).then((socket) => void socket.destroy());
    // One that is made in the last moment is reset.
    return (await attempt.catch(({ code }) => code)) === 'ECONNREFUSED';
  });
}

/** Reads from a bare connection until the other side closes it; a reset counts as closing. */
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

/** Sends `text` over a bare connection and resolves with everything that comes back until the service closes it. */
export async function sendRaw(service: Pick<Service, 'port'>, text: string | Buffer): Promise<string> {
  const socket = await openSocket(service);
  const answer = readAll(socket);
  socket.write(text);
  return answer;
}
