// A connection that sends arbitrary bytes. The service may reply only with complete answers, or
// close the connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { openSocket, type RawAnswer, takeAnswer } from './raw.ts';

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

/** A connection that is reopened after it has ended. */
export interface ProbedConnection {
  /** Sends `bytes` and a valid request; resolves when that was answered, or at the close. */
  exchange(bytes: Buffer, probeId: string): Promise<void>;
  close(): Promise<void>;
}

/** Returns a connection that opens with the first exchange. */
export function openProbedConnection(port: number, tally: Tally): ProbedConnection {
  let current: Socket | undefined;

  return {
    async exchange(bytes, probeId) {
      if (!current) {
        current = await openSocket({ port });
        tally.connections += 1;
        // The service may close while the client is still sending: that is a reset, and an end like
        // any other.
        current.on('error', () => {});
      }
      const socket = current;
      const stays = await sendWithProbe(socket, bytes, probeId, tally);
      if (!stays) current = undefined;
    },
    async close() {
      if (!current || current.closed) return;
      current.end();
      await once(current, 'close');
    },
  };
}

function sendWithProbe(
  socket: Socket,
  bytes: Buffer,
  probeId: string,
  tally: Tally,
): Promise<boolean> {
  const mayBeHead = bytes.includes('HEAD');
  let received = Buffer.alloc(0);
  const statuses: number[] = [];
  const startedMs = performance.now();
  let ended = false;
  return new Promise((resolve, reject) => {
    let timer = setTimeout(onQuiet, QUIET_MS);

    function onData(chunk: Buffer): void {
      received = Buffer.concat([received, chunk]);
      if (!ended) timer.refresh();
      settleIf(() => (takeAll(false) && !ended ? true : undefined));
    }
    function onClose(): void {
      settleIf(() => {
        takeAll(true);
        assert.equal(received.toString('latin1'), '', 'the last answer is incomplete');
        if (statuses.length === 0) {
          assert.ok(ended, 'the service closed without an answer');
          tally.silent += 1;
        }
        return false;
      });
    }
    function onQuiet(): void {
      tally.quiet += 1;
      end();
    }
    function end(): void {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      timer = setTimeout(
        () => settleIf(() => assert.fail('the service does not close')),
        CLOSED_WITHIN_MS,
      );
      socket.end();
    }
    /** Takes all complete answers. Returns whether that to the probe was among them. */
    function takeAll(closed: boolean): boolean {
      for (let answer = take(closed); answer; answer = take(closed)) {
        if (answersProbe(answer, probeId)) return true;
        statuses.push(answer.status);
        tally.statuses.set(answer.status, (tally.statuses.get(answer.status) ?? 0) + 1);
        assertAllowed(answer);
        if (answer.headers.connection?.toLowerCase() === 'close') end();
      }
      return false;
    }
    function take(closed: boolean): RawAnswer | undefined {
      const isHead = mayBeHead && endsWithItsHeaders(received, closed);
      if (isHead === undefined) return undefined;
      const taken = takeAnswer(received, isHead ? 'HEAD' : 'GET');
      if (taken) received = received.subarray(taken.length);
      return taken?.answer;
    }
    function settleIf(look: () => boolean | undefined): void {
      try {
        const outcome = look();
        if (outcome === undefined) return;
        finish();
        resolve(outcome);
      } catch (error) {
        finish();
        socket.destroy();
        reject(new Error(`${error instanceof Error ? error.message : error}${soFar()}`));
      }
    }
    function soFar(): string {
      const ms = Math.round(performance.now() - startedMs);
      const code = (socket.errored as NodeJS.ErrnoException | null)?.code ?? 'no error';
      const rest = JSON.stringify(received.toString('latin1').slice(0, 1_000));
      const seen = `answers [${statuses.slice(-20)}] and then ${rest}`;
      return `\nafter ${ms} ms, ${ended ? 'ended by the client, ' : ''}${code}, ${seen}`;
    }
    function finish(): void {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
    }

    socket.on('data', onData).on('close', onClose);
    if (socket.closed) onClose();
    else socket.write(Buffer.concat([bytes, probe(probeId)]));
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
