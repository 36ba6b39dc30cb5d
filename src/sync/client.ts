// Requests to a service, with a key, repeated until there is an answer. They do not use
// `fetch`, which takes long to load, and more memory.
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { EFFECTS, SYNC_TIMES } from './effects.ts';

/** There is no answer, or none with which a run can go on. */
export class Unavailable extends Error {}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly etag: string;
}

interface RequestParts {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The statuses beside 2xx that the caller handles. */
  readonly expected?: readonly number[];
}

/** Sends a request until it is answered. Rejects with {@link Unavailable}, or with a refusal. */
export type Call = (method: string, target: string, parts?: RequestParts) => Promise<Answer>;

export interface ClientOptions {
  /** Without a slash at the end. */
  readonly url: string;
  readonly key: string | undefined;
  /** Whether requests are repeated for ever, instead of five times. */
  readonly isPatient: boolean;
  /** Tells people, once, that the service does not answer. */
  readonly warn: (line: string) => void;
  readonly stop: AbortSignal;
}

/** How a service answers to what it has carried out. */
const SUCCESS: Readonly<Record<string, number>> = { GET: 200, POST: 201, PATCH: 200, DELETE: 204 };
const MAX_TRIES = 5;
const MAX_WAIT_MS = 10_000;
/** The longest wait that a service can ask for. */
const MAX_ASKED_SECONDS = 60;
const MAX_ANSWER_MS = 60_000;
/** A stream has a comment every 15 seconds. */
const MAX_SILENCE_MS = 40_000;

/** Returns a client of one service. */
export function createCall(options: ClientOptions): Call {
  const { url, isPatient, warn, stop } = options;
  let refusedMs: number | undefined;
  let isTold = false;
  return async function call(method, target, parts = {}) {
    for (let tries = 1; ; ) {
      if (method !== 'GET') EFFECTS.before('request', `${method} ${target}`);
      const limit = AbortSignal.timeout(MAX_ANSWER_MS);
      // A write that has begun is not broken off.
      const signal = method === 'GET' ? AbortSignal.any([stop, limit]) : limit;
      const found = await exchange(options, method, target, parts, signal);
      let waitMs = Math.min(SYNC_TIMES.retry * 2 ** tries, MAX_WAIT_MS);
      let isHopeless = tries >= MAX_TRIES;
      let why = 'the service is overloaded';
      if (typeof found === 'string') {
        tries += 1;
        why = `no answer from ${url}: ${found}`;
      } else if (found.status === 429 || found.status === 503) {
        waitMs = SYNC_TIMES.second * secondsIn(found.headers);
        refusedMs ??= performance.now();
        isHopeless = performance.now() >= refusedMs + SYNC_TIMES.overload;
      } else {
        refusedMs = undefined;
        isTold = false;
        return checked(found, parts, method, url);
      }
      stop.throwIfAborted();
      if (isHopeless && !isPatient) throw new Unavailable(why);
      if (isPatient && !isTold && (isHopeless || typeof found === 'string')) {
        warn(`${why}; trying again`);
        isTold = true;
      }
      await delay(waitMs, undefined, { signal: stop });
    }
  };
}

/** Returns how long the service asks to wait. */
function secondsIn(headers: IncomingHttpHeaders): number {
  return Math.min(Math.max(Number(headers['retry-after']) || 1, 1), MAX_ASKED_SECONDS);
}

/** Calls `onChange` when the service may have changed; resolves when the stream ends. */
export async function listen(options: ClientOptions, onChange: () => void): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), MAX_SILENCE_MS);
  try {
    const signal = AbortSignal.any([options.stop, silence.signal]);
    const headers = { accept: 'text/event-stream' };
    const answer = await send(options, 'GET', '/changes', { headers }, signal);
    if (answer.statusCode === 200) onChange();
    for await (const part of answer) {
      timer.refresh();
      if (part.includes('data:')) onChange();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves with an answer whose body is still to be read, as text. */
async function send(
  { url, key }: ClientOptions,
  method: string,
  target: string,
  { body, headers }: RequestParts,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request } = url.startsWith('https:') ? await import('node:https') : http;
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const options = { method, signal, headers: { ...authorization, ...headers } };
  return new Promise((resolve, reject) => {
    const onAnswer = (answer: IncomingMessage) => resolve(answer.setEncoding('utf8'));
    request(`${url}${target}`, options, onAnswer).on('error', reject).end(body);
  });
}

/** Resolves with an answer, or with the reason why there is none. */
async function exchange(...request: Parameters<typeof send>) {
  try {
    const answer = await send(...request);
    const { statusCode: status = 0, headers } = answer;
    let body = '';
    for await (const part of answer) body += part;
    // Proxies answer so that reach no service.
    return status === 502 || status === 504 ? `status ${status}` : { status, headers, body };
  } catch (error) {
    const { cause, message, code } = error as NodeJS.ErrnoException;
    return (cause instanceof Error ? cause.message : message) || `${code}`;
  }
}

function checked(
  { status, headers, body }: { status: number; headers: IncomingHttpHeaders; body: string },
  { expected = [], body: sent }: RequestParts,
  method: string,
  url: string,
): Answer {
  const type = headers['content-type'] ?? '';
  const isJson = status === 204 || /^application\/(?:json|x-ndjson)\b/.test(type);
  const isSuccess = status === SUCCESS[method] && isJson;
  const isProblem = type.startsWith('application/problem+json');
  // A proxy may refuse a single text, for its length or its words.
  if (!isProblem && sent !== undefined && (status === 403 || status === 413)) {
    const detail = `a proxy refuses the text with status ${status}`;
    if (!expected.includes(status)) throw new Error(detail);
    return { status, body: JSON.stringify({ detail }), etag: '' };
  }
  // Another server at this address must not be believed that a note is changed or gone.
  if (!isSuccess && !isProblem) {
    const to = headers.location === undefined ? '' : ` (to ${headers.location})`;
    throw new Unavailable(`${url} answers with status ${status}${to}, and is no notes-server`);
  }
  if (status === 401 || status === 403) throw new Unavailable(String(objectIn(body).detail));
  if (!isSuccess && !expected.includes(status)) throw new Error(String(objectIn(body).detail));
  // A proxy that compresses answers makes their tags weak.
  return { status, body, etag: headers.etag?.replace(/^W\//, '') ?? '' };
}

/** Returns the object that a JSON text is. Throws {@link Unavailable}. */
export function objectIn(json: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json));
  } catch {
    throw foreignAnswer();
  }
}

/** Returns the error for an answer that no notes-server gives. */
export function foreignAnswer(): Unavailable {
  return new Unavailable('the answers are not those of a notes-server');
}
