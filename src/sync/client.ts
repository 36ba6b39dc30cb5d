// Requests to a service, with a key, repeated until there is an answer.
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
  readonly stop: AbortSignal;
}

const MAX_TRIES = 5;
const MAX_WAIT_MS = 10_000;
const MAX_ANSWER_MS = 60_000;
/** A stream has a comment every 15 seconds. */
const MAX_SILENCE_MS = 40_000;

/** Returns a client of one service. */
export function createCall(options: ClientOptions): Call {
  const { url, isPatient, stop } = options;
  return async function call(method, target, parts = {}) {
    for (let tries = 1; ; ) {
      if (method !== 'GET') EFFECTS.before('request', `${method} ${target}`);
      const limit = AbortSignal.timeout(MAX_ANSWER_MS);
      // A write that has begun is not broken off.
      const signal = method === 'GET' ? AbortSignal.any([stop, limit]) : limit;
      const found = await exchange(options, method, target, parts, signal);
      let waitMs = Math.min(SYNC_TIMES.retry * 2 ** tries, MAX_WAIT_MS);
      if (typeof found === 'string') {
        if (tries >= MAX_TRIES && !isPatient)
          throw new Unavailable(`no answer from ${url}: ${found}`);
        tries += 1;
      } else if (found.status !== 429 && found.status !== 503) {
        return checked(found, parts.expected ?? [], url);
      } else waitMs = SYNC_TIMES.second * (Number(found.headers.get('retry-after')) || 1);
      await delay(waitMs, undefined, { signal: stop });
    }
  };
}

/** Calls `onChange` when the service may have changed; resolves when the stream ends. */
export async function listen(options: ClientOptions, onChange: () => void): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), MAX_SILENCE_MS);
  try {
    const signal = AbortSignal.any([options.stop, silence.signal]);
    const headers = { ...headersOf(options), accept: 'text/event-stream' };
    const { ok, body } = await fetch(`${options.url}/changes`, { headers, signal });
    if (ok) onChange();
    for await (const part of (ok && body) || []) {
      timer.refresh();
      if (Buffer.from(part).includes('data:')) onChange();
    }
  } finally {
    clearTimeout(timer);
  }
}

function headersOf({ key }: ClientOptions): Readonly<Record<string, string>> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Resolves with an answer, or with the reason why there is none. */
async function exchange(
  options: ClientOptions,
  method: string,
  target: string,
  { body, headers }: RequestParts,
  signal: AbortSignal,
) {
  try {
    const response = await fetch(`${options.url}${target}`, {
      ...{ method, signal, body: body ?? null, redirect: 'manual' },
      headers: { ...headersOf(options), ...headers },
    });
    const { status, headers: received } = response;
    // Proxies answer so that reach no service.
    if (status === 502 || status === 504) return `status ${status}`;
    return { status, headers: received, body: await response.text() };
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}

function checked(
  { status, headers, body }: { status: number; headers: Headers; body: string },
  expected: readonly number[],
  url: string,
): Answer {
  const isSuccess = status >= 200 && status < 300;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json');
  // Another server at this address must not be believed that a note is gone.
  if (!isSuccess && !isProblem)
    throw new Unavailable(`${url} answers with status ${status}, and is no notes-server`);
  if (status === 401 || status === 403) throw new Unavailable(String(objectIn(body).detail));
  if (!isSuccess && !expected.includes(status)) throw new Error(String(objectIn(body).detail));
  return { status, body, etag: headers.get('etag') ?? '' };
}

/** Returns the object that a JSON text is. Throws {@link Unavailable}. */
export function objectIn(json: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json));
  } catch {
    throw new Unavailable('the answers are not those of a notes-server');
  }
}
