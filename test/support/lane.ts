// A connection over which anything is sent, and on which nothing comes back but whole answers, or an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { openSocket, type RawAnswer, takeAnswer } from './raw.ts';

/** How long nothing has to come before the client takes it that the service waits for more, and ends the connection. */
const QUIET_MS = 100;
/** How long the service may take to close a connection that its client has ended. */
const CLOSED_WITHIN_MS = 10_000;

const ALLOWED_FAULTS = [501, 503, 505];

/** What was seen on all lanes. The counts are added to. */
export interface Tally {
  /** How many answers there were of each status, those to probes excepted. */
  readonly statuses: Map<number, number>;
  connections: number;
  /** How often the service waited for more. */
  quiet: number;
  /** How often a connection was over without any answer, each of them ended by the client. */
  silent: number;
}

/** A connection that is opened again whenever it has ended. */
export interface Lane {
  /**
   * Sends `bytes` and a request behind them; resolves when that was answered, which shows that both sides agree on where
   * each of them ends, or when the connection was closed. Rejects if an answer is not whole, or not one that is allowed.
   */
  exchange(bytes: Buffer, probeId: string): Promise<void>;
  close(): Promise<void>;
}

/** Returns a lane that is not open yet. */
export function openLane(port: number, tally: Tally): Lane {
  let current: Socket | undefined;

  return {
    async exchange(bytes, probeId) {
      if (!current) {
        current = await openSocket({ port });
        tally.connections += 1;
        // A reset comes where the client still sends when the service has closed: an end like any other.
        current.on('error', () => {});
      }
      const socket = current;
      const stays = await converse(socket, bytes, probeId, tally);
      if (!stays) current = undefined;
    },
    async close() {
      if (!current || current.closed) return;
      current.end();
      await once(current, 'close');
    },
  };
}

/** Resolves with whether the connection is still there. */
function converse(socket: Socket, bytes: Buffer, probeId: string, tally: Tally): Promise<boolean> {
  const mayBeHead = bytes.includes('HEAD');
  let received = Buffer.alloc(0);
  let answers = 0;
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
        assert.equal(received.toString('latin1'), '', 'the last answer is not whole');
        if (answers === 0) {
          assert.ok(ended, 'the service closed without a word');
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
      timer = setTimeout(() => settleIf(() => assert.fail('the service does not close')), CLOSED_WITHIN_MS);
      socket.end();
    }
    /** Takes all answers that are whole; returns whether that of the probe was among them. */
    function takeAll(closed: boolean): boolean {
      for (let answer = take(closed); answer; answer = take(closed)) {
        if (answersProbe(answer, probeId)) return true;
        answers += 1;
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
        reject(error);
      }
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

/** Only the server as a whole allows this much: the id may have become a header of what was sent in front of the probe. */
function answersProbe({ headers }: RawAnswer, id: string): boolean {
  return headers['x-request-id'] === id && headers.allow === 'GET, HEAD, POST, PUT, DELETE, OPTIONS';
}

/** Whether the first answer has no body although it tells a length, as one to HEAD; undefined if that cannot be told yet. */
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
  assert.equal(headers['content-type'], 'application/problem+json');
  assert.equal(JSON.parse(body).status, status);
  if (status === 503) assert.ok(headers['retry-after']);
}
