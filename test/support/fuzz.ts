// Sends mutated requests over several concurrent connections. The service may reply only with
// complete answers, or close the connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createRandom, mutated } from './mutations.ts';
import { openSocket, type RawAnswer, takeAnswer } from './raw.ts';
import type { Samples } from './samples.ts';

/** Then the service probably waits for more, and the client ends the connection. */
const QUIET_MS = 300;
/** Bounds the wait for the service to close a connection that its client has ended. */
const CLOSED_WITHIN_MS = 30_000;

const ALLOWED_FAULTS = [501, 503, 505];

/** Counts what happened on all connections. */
export interface Tally {
  /** The number of answers of each status, except those to probes. */
  readonly statuses: Map<number, number>;
  connections: number;
  /** How often the client ended a connection because the service waited for more. */
  quiet: number;
  /** How many connections, ended by the client, were closed without an answer. */
  silent: number;
}

/** Returns a tally of nothing. */
export function createTally(): Tally {
  return { statuses: new Map(), connections: 0, quiet: 0, silent: 0 };
}

/** The mutations `first` to `last` - 1 of `seed`, sent over this number of connections. */
export interface Fuzz {
  readonly samples: Samples;
  readonly seed: number;
  readonly first: number;
  readonly last: number;
  readonly connections: number;
}

/** Sends mutated requests and counts the answers; rejects at the first wrong one. */
export async function sendMutations(
  port: number,
  { samples, seed, first, last, connections }: Fuzz,
  tally: Tally,
): Promise<void> {
  let next = first;

  async function keepSending(): Promise<void> {
    let socket: Socket | undefined;
    while (next < last) {
      const number = next;
      next += 1;
      const bytes = mutated(createRandom(Math.imul(seed, 1_000_003) + number), samples);
      if (!socket) {
        socket = await openSocket({ port });
        tally.connections += 1;
        // The service may close while the client is still sending: that is a reset, and an end like
        // any other.
        socket.on('error', () => {});
      }
      const isOpen = await sendWithProbe(socket, bytes, `probe-${number}`, tally).catch((cause) => {
        const text = JSON.stringify(bytes.toString('latin1')).slice(0, 3_000);
        // The reports show only the message.
        throw new Error(`seed ${seed}, request ${number}: ${cause.message}\n${text}`, { cause });
      });
      if (!isOpen) socket = undefined;
    }
    if (!socket || socket.closed) return;
    socket.end();
    await once(socket, 'close');
  }

  await Promise.all(Array.from({ length: connections }, keepSending));
}

/** Sends `bytes` and a valid request; resolves with whether that was answered before the close. */
async function sendWithProbe(
  socket: Socket,
  bytes: Buffer,
  probeId: string,
  tally: Tally,
): Promise<boolean> {
  let received = Buffer.alloc(0);
  const statuses: number[] = [];
  let isEnded = false;
  const keep = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  };
  const end = () => {
    isEnded = true;
    socket.end();
  };
  socket.on('data', keep).write(Buffer.concat([bytes, probe(probeId)]));
  try {
    for (;;) {
      const isHead = bytes.includes('HEAD') && endsWithItsHeaders(received, socket.closed);
      const taken =
        isHead === undefined ? undefined : takeAnswer(received, isHead ? 'HEAD' : 'GET');
      if (taken) {
        const { answer, length } = taken;
        received = received.subarray(length);
        const isProbe = answersProbe(answer, probeId);
        if (isProbe && !isEnded) return true;
        if (isProbe) continue;
        statuses.push(answer.status);
        tally.statuses.set(answer.status, (tally.statuses.get(answer.status) ?? 0) + 1);
        assertAllowed(answer);
        if (answer.headers.connection?.toLowerCase() === 'close') end();
      } else if (socket.closed) {
        assert.equal(received.toString('latin1'), '', 'the last answer is incomplete');
        assert.ok(isEnded || statuses.length > 0, 'the service closed without an answer');
        tally.silent += Number(statuses.length === 0);
        return false;
      } else if (!(await changes(socket, isEnded ? CLOSED_WITHIN_MS : QUIET_MS))) {
        assert.ok(!isEnded, 'the service does not close');
        tally.quiet += 1;
        end();
      }
    }
  } catch (error) {
    socket.destroy();
    const code = (socket.errored as NodeJS.ErrnoException | null)?.code ?? 'no error';
    const rest = JSON.stringify(received.toString('latin1').slice(0, 1_000));
    const seen = `${code}, answers [${statuses.slice(-20)}] and then ${rest}`;
    throw new Error(`${error instanceof Error ? error.message : error}\n${seen}`);
  } finally {
    socket.off('data', keep);
  }
}

/** Resolves with whether bytes arrive, or the connection is closed, within `ms`. */
function changes(socket: Socket, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (hasChanged: boolean) => {
      clearTimeout(timer);
      socket.off('data', onChange).off('close', onChange);
      resolve(hasChanged);
    };
    const onChange = () => settle(true);
    const timer = setTimeout(settle, ms, false);
    socket.on('data', onChange).on('close', onChange);
  });
}

function probe(id: string): Buffer {
  return Buffer.from(`OPTIONS * HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\n\r\n`);
}

/** Only `OPTIONS *` allows this much; the id may be that of a mutated request. */
function answersProbe({ headers }: RawAnswer, id: string): boolean {
  return (
    headers['x-request-id'] === id &&
    headers.allow === 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
  );
}

/** Whether the first answer has a length but no body; undefined if that is not known yet. */
function endsWithItsHeaders(received: Buffer, closed: boolean): boolean | undefined {
  const next = 'HTTP/1.1 ';
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const rest = received.subarray(end + 4, end + 4 + next.length).toString('latin1');
  if (rest.length < next.length && !closed && next.startsWith(rest)) return undefined;
  return rest === '' || rest === next;
}

function assertAllowed({ status, headers, body }: RawAnswer): void {
  assert.ok(status < 500 || ALLOWED_FAULTS.includes(status), `${status} ${body}`);
  if (status < 400 || body === '') return;
  const json = JSON.parse(body);
  // Assistants get an error of JSON-RPC.
  const type = json.jsonrpc ? 'application/json' : 'application/problem+json';
  assert.equal(headers['content-type'], type);
  assert.equal(json.jsonrpc ? json.error.code < 0 : json.status === status, true, body);
  if (status === 503) assert.ok(headers['retry-after']);
}
