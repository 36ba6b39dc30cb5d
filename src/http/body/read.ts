// Reads and parses request bodies within their limits.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ByteBudget } from '../byte-budget.ts';
import type { Exchange } from '../exchange.ts';
import { DISPATCH_LIMITS } from '../limits.ts';
import { ClientGone, Problem } from '../problem.ts';
import type { BodyFormats, Route } from '../route.ts';
import { Turns } from '../turns.ts';
import { formatOf, parseLines, parseWhole } from './formats.ts';

const NO_BYTES = Buffer.alloc(0);

/** The least that a body takes that arrives in parts; it doubles when it is full. */
const MIN_BYTES = 4_096;

/** Whether all parsers agree on where a request ends (RFC 9112, sections 6.1 and 11.2). */
export function hasUnambiguousEnd({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return httpVersion.startsWith('1.');
  return httpVersion === '1.1' && coding !== '';
}

/** Whether the request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Reads the bodies of all requests: each within a limit, all large or slow ones in a budget. */
export class BodyReader {
  readonly #limitBytes: number;
  readonly #budget = new ByteBudget(
    DISPATCH_LIMITS.bodiesBytes,
    'Too many large or slow bodies are arriving.',
  );
  readonly #parsing = new Turns();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Reads and parses the body; returns a promise only if it must wait. Throws 413, 415 or 400. */
  receive(exchange: Exchange, route: Route): Promise<unknown> | undefined {
    const { message, headers } = exchange;
    const { accepts } = route;
    if (Number(headers['content-length'] ?? 0) > this.#limitBytes) throw tooLarge(this.#limitBytes);
    if (accepts) exchange.format = formatOf(message, accepts);
    switch (planFor(exchange, route)) {
      case 'none':
        // Node would discard it in more steps, and keep what arrives until the answer.
        if (message.complete) message.read();
        else message.resume();
        return undefined;
      case 'discard':
        return this.#read(exchange);
      case 'small':
        exchange.bytes = this.#take(exchange);
        exchange.body = parseWhole(exchange.bytes, exchange.format, message, accepts);
        return undefined;
      case 'large':
        return accepts && this.#parse(exchange, accepts);
    }
  }

  /** Whether the rest of a body may be too long for Node to discard, or never be sent. */
  leavesUnread({ message, headers, awaitsContinue }: Exchange): boolean {
    if (!hasBody(message)) return false;
    const declared = headers['content-length'];
    const isBounded = declared !== undefined && Number(declared) <= this.#limitBytes;
    return awaitsContinue || !isBounded;
  }

  async #read(exchange: Exchange): Promise<Buffer> {
    const { message, response, headers, awaitsContinue } = exchange;
    if (isLarge(Number(headers['content-length'] ?? 0))) this.#budget.ensureRoom();
    if (message.complete) return this.#take(exchange);
    if (awaitsContinue) response.writeContinue();
    return receiveBody(message, this.#limitBytes, (bytes) => this.#hold(response, bytes));
  }

  /** Reads a body that has arrived. */
  #take({ message, response, awaitsContinue }: Exchange): Buffer {
    if (awaitsContinue) response.writeContinue();
    const bytes: Buffer = message.read() ?? Buffer.alloc(0);
    if (bytes.length > this.#limitBytes) throw tooLarge(this.#limitBytes);
    if (isLarge(bytes.length)) this.#hold(response, bytes.length);
    return bytes;
  }

  #hold(response: ServerResponse, bytes: number): void {
    this.#budget.ensureRoom(bytes - this.#budget.heldBy(response));
    this.#budget.hold(response, bytes);
  }

  async #parse(exchange: Exchange, accepts: BodyFormats): Promise<void> {
    const bytes = await this.#read(exchange);
    const pause = () => this.#parsing.next();
    if (isLarge(bytes.length)) await pause();
    exchange.bytes = bytes;
    exchange.body =
      exchange.format === 'lines'
        ? await parseLines(bytes, accepts, DISPATCH_LIMITS.largeBodyBytes, pause)
        : parseWhole(bytes, exchange.format, exchange.message, accepts);
  }
}

/** A body is left to Node, read to its end, parsed at once, or parsed later and in turn. */
type Plan = 'none' | 'discard' | 'small' | 'large';

function planFor(exchange: Exchange, { accepts, method }: Route): Plan {
  const { message, format, awaitsContinue } = exchange;
  // A write waits for the end of a body that it ignores, unless the client awaits a 100.
  if (!accepts) return method === 'GET' || awaitsContinue || !hasBody(message) ? 'none' : 'discard';
  const isSmall = message.complete && !isLarge(message.readableLength) && format !== 'lines';
  return isSmall ? 'small' : 'large';
}

/** Resolves with a body. Calls `hold`, which may throw, with the bytes that it is about to take. */
async function receiveBody(
  message: IncomingMessage,
  limitBytes: number,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  const declared = Number(message.headers['content-length'] ?? limitBytes);
  // One buffer: apart, small chunks would take far more memory than their bytes.
  let body = NO_BYTES;
  let received = 0;
  try {
    // A message that is destroyed takes its connection along, without an answer.
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      const end = received + chunk.length;
      if (end > limitBytes) throw tooLarge(limitBytes);
      if (end > body.length) {
        const length = Math.min(declared, Math.max(end, 2 * body.length, MIN_BYTES));
        hold(length);
        const larger = Buffer.allocUnsafeSlow(length);
        body.copy(larger);
        body = larger;
      }
      chunk.copy(body, received);
      received = end;
    }
  } catch (error) {
    throw error instanceof Problem ? error : new ClientGone();
  }
  return body.subarray(0, received);
}

function isLarge(bytes: number): boolean {
  return bytes >= DISPATCH_LIMITS.largeBodyBytes;
}

function tooLarge(limitBytes: number): Problem {
  return new Problem('payload-too-large', `The body is larger than ${limitBytes} bytes.`);
}
