// The log on standard error: buffered, written after each loop iteration, and never blocking.
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';

/** The members of a log line: time, level, message and others. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The levels, most severe first. A log writes lines of its own level and of more severe ones. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** The formats; `auto` is pretty on a terminal and JSON elsewhere. */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

type LogLevel = (typeof LOG_LEVELS)[number];

/** A log. Its methods never throw. */
export type Log = Pick<LineLog, 'writes' | 'write' | 'flush'>;

/** Above this, lines are dropped and counted. */
const MAX_BUFFERED_CHARACTERS = 8_388_608;

/** PIPE_BUF on Linux: a write of this size is atomic, so lines of several processes stay whole. */
const PIECE_BYTES = 4_096;

const RETRY_MS = 20;
const FLUSH_MS = 500;

interface LogOptions {
  /** The file descriptor; a pipe must be non-blocking, so that a full one fails with EAGAIN. */
  readonly target?: number;
  readonly always?: LogFields;
  readonly toLine?: (fields: LogFields) => string;
}

/** Writes lines to a file descriptor. */
export class LineLog {
  readonly #levels: ReadonlySet<LogLevel>;
  readonly #options: Required<LogOptions>;
  #lines = '';
  #unwritten: Buffer = Buffer.alloc(0);
  #dropped = 0;
  #isScheduled = false;

  constructor(level: LogLevel, options: LogOptions = {}) {
    this.#levels = new Set(LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1));
    // Reading it makes standard error non-blocking. In a worker thread, it has no descriptor.
    const target = process.stderr.fd ?? 2;
    this.#options = { target, always: {}, toLine: jsonLine, ...options };
  }

  writes(level: LogLevel): boolean {
    return this.#levels.has(level);
  }

  /** Writes a line without blocking. Ignores lines less severe than the level of the log. */
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields: LogFields = {}): void {
    if (!this.writes(level)) return;
    if (this.#lines.length > MAX_BUFFERED_CHARACTERS) {
      this.#dropped += 1;
      return;
    }
    const time = new Date().toISOString();
    const lost = this.#dropped === 0 ? {} : { dropped_lines: this.#dropped };
    this.#dropped = 0;
    const { always, toLine } = this.#options;
    this.#lines += `${toLine({ time, level, message, ...always, ...fields, ...lost })}\n`;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#writeOrRetry());
  }

  /** Writes the buffered lines before the process ends; blocks for 500 ms at most. */
  flush(): void {
    const deadline = performance.now() + FLUSH_MS;
    while (!this.#writeOut() && performance.now() < deadline)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
  }

  #writeOrRetry(): void {
    this.#isScheduled = !this.#writeOut();
    if (this.#isScheduled) setTimeout(() => this.#writeOrRetry(), RETRY_MS).unref();
  }

  /** Returns false if the pipe is full before all lines are written. */
  #writeOut(): boolean {
    try {
      while (this.#unwritten.length > 0 || this.#lines !== '') {
        if (this.#unwritten.length === 0) {
          this.#unwritten = Buffer.from(this.#lines);
          this.#lines = '';
        }
        const length = pieceLength(this.#unwritten);
        const written = writeSync(this.#options.target, this.#unwritten, 0, length);
        this.#unwritten = this.#unwritten.subarray(written);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // Drop what cannot be written (EPIPE, ENOSPC): the log must not stop the service.
      this.#unwritten = Buffer.alloc(0);
      this.#lines = '';
    }
    return true;
  }
}

/** Returns the length of the next write: all lines that fit in a piece, but at least one line. */
export function pieceLength(bytes: Buffer): number {
  if (bytes.length <= PIECE_BYTES) return bytes.length;
  const whole = bytes.lastIndexOf('\n', PIECE_BYTES - 1) + 1;
  return whole > 0 ? whole : bytes.indexOf('\n') + 1;
}

/** Returns a line as JSON; an Error becomes its message, code, stack and cause. Never throws. */
export function jsonLine(fields: LogFields): string {
  try {
    // A replacer is slow, so use it only if a member may contain an Error.
    const mayHoldError = Object.values(fields).some((value) => typeof value === 'object');
    return JSON.stringify(fields, mayHoldError ? describeErrors : undefined);
  } catch {
    // A thrown value may be anything, also one that JSON cannot represent (a cycle, a BigInt).
    const { time, level, message, request_id } = fields;
    return JSON.stringify({ time, level, message, request_id, fields: inspect(fields) });
  }
}

function describeErrors(_: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { message, code, stack, cause } = value as NodeJS.ErrnoException;
  return { message, code, stack, cause };
}
