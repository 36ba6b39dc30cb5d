// The log: lines on standard error. They are gathered during a turn of the event loop and written
// at its end. A pipe that nobody reads does not block the service: lines wait within bounds, then
// are dropped.
import { writeSync } from 'node:fs';
import { jsonLine, type LogFields } from './json-line.ts';

/** The levels, from the most to the least severe. A log writes its level and those before it. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/**
 * The formats: JSON for programs, pretty for people; `auto` is pretty on a terminal and JSON
 * elsewhere.
 */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

/** One of {@link LOG_FORMATS}. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log. Its methods never throw. */
export interface Log {
  /** Writes a line, without blocking, unless `level` is less severe than that of the log. */
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: LogFields): void;
  /**
   * Writes waiting lines before the process ends. It blocks, for 500 ms at most if nobody reads.
   */
  flush(): void;
}

/** How many characters may wait; further lines are counted and dropped. */
const MAX_WAITING_CHARACTERS = 8_388_608;

/** What a pipe takes at once (POSIX, PIPE_BUF), so that lines of several processes do not mix. */
const PIECE_BYTES = 4_096;

/** In a worker thread, `process.stderr` has no descriptor. */
const STANDARD_ERROR = 2;

const RETRY_MS = 20;
const FLUSH_MS = 500;

/** How a log writes its lines. */
export interface LogOptions {
  /**
   * The file descriptor, by default standard error. A pipe must be non-blocking, so that a full one
   * fails with EAGAIN; Node makes standard error so when `process.stderr` is first read.
   */
  readonly target?: number;
  /** Members that every line gets. */
  readonly always?: LogFields;
  /** Formats a line, without a line break at its end; by default as JSON. */
  readonly toLine?: (fields: LogFields) => string;
}

/** A log that writes lines to a file descriptor. */
export class LineLog implements Log {
  readonly #threshold: number;
  readonly #target: number;
  readonly #always: LogFields;
  readonly #toLine: (fields: LogFields) => string;
  #lines = '';
  /** The rest of the lines that are being written. */
  #unwritten: Buffer = Buffer.alloc(0);
  #dropped = 0;
  #isScheduled = false;

  /** Writes lines of `level` and more severe ones. */
  constructor(level: LogLevel, options: LogOptions = {}) {
    const {
      target = process.stderr.fd ?? STANDARD_ERROR,
      always = {},
      toLine = jsonLine,
    } = options;
    this.#threshold = LOG_LEVELS.indexOf(level);
    this.#target = target;
    this.#always = always;
    this.#toLine = toLine;
  }

  /** Writes a line at the end of this turn of the event loop. */
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields: LogFields = {}): void {
    if (LOG_LEVELS.indexOf(level) > this.#threshold) return;
    if (this.#lines.length > MAX_WAITING_CHARACTERS) {
      this.#dropped += 1;
      return;
    }
    const time = new Date().toISOString();
    const lost = this.#dropped === 0 ? {} : { dropped_lines: this.#dropped };
    this.#dropped = 0;
    this.#lines += `${this.#toLine({ time, level, message, ...this.#always, ...fields, ...lost })}\n`;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#writeOrRetry());
  }

  /** Writes everything that waits; gives up after 500 ms. */
  flush(): void {
    const deadline = performance.now() + FLUSH_MS;
    while (!this.#writeOut() && performance.now() < deadline) sleepSync(RETRY_MS);
  }

  #writeOrRetry(): void {
    this.#isScheduled = !this.#writeOut();
    if (this.#isScheduled) setTimeout(() => this.#writeOrRetry(), RETRY_MS).unref();
  }

  /** Writes until nothing is left (returns true) or the pipe is full (returns false). */
  #writeOut(): boolean {
    try {
      while (this.#unwritten.length > 0 || this.#lines !== '') {
        if (this.#unwritten.length === 0) {
          this.#unwritten = Buffer.from(this.#lines);
          this.#lines = '';
        }
        const written = writeSync(this.#target, this.#unwritten, 0, pieceLength(this.#unwritten));
        this.#unwritten = this.#unwritten.subarray(written);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // A log that cannot be written (EPIPE, ENOSPC) must not end the service.
      this.#unwritten = Buffer.alloc(0);
    }
    return true;
  }
}

/**
 * Returns how many bytes to write at once: whole lines that fit into one piece, or one longer line.
 */
function pieceLength(bytes: Buffer): number {
  if (bytes.length <= PIECE_BYTES) return bytes.length;
  const whole = bytes.lastIndexOf('\n', PIECE_BYTES - 1) + 1;
  return whole > 0 ? whole : bytes.indexOf('\n') + 1;
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
