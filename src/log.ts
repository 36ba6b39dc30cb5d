// The log: lines on standard error, gathered for a turn of the event loop and written at its end. A pipe that nobody
// reads holds up nothing: what it refuses waits, within bounds.
import { writeSync } from 'node:fs';
import { jsonLine, type LogFields } from './log/json-line.ts';

/** The levels from the most to the least severe; a log at a level writes that level and those before it. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** For whom a log is: programs (JSON), people, or whoever is there: people on a terminal, programs elsewhere. */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

/** For whom a log is. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** How much a log tells. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes a line unless its level is less severe than the log's. Never throws, never waits for a reader. */
export interface Log {
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: LogFields): void;
  /** Writes what is still waiting, blocking (500 ms at most if nobody reads): for the end of the process. */
  flush(): void;
}

/** What may wait to be written; what comes on top of that is counted and dropped. In characters. */
const WAITING_LIMIT = 8_388_608;

/** A pipe takes so many bytes in one piece (POSIX, PIPE_BUF): lines of several processes do not get into each other. */
const PIECE_BYTES = 4_096;

/** That of the process: in a thread of it `process.stderr` has none. */
const STANDARD_ERROR = 2;

const RETRY_MS = 20;
const FLUSH_MS = 500;

/** What a log may be told of its lines. */
export interface LogOptions {
  /**
   * The file descriptor that is written to; default: standard error. A pipe must be non-blocking, as Node makes standard
   * error when it is asked for it: only then a full one says so instead of waiting for a reader.
   */
  readonly target?: number;
  /** The members of each line beside its own. */
  readonly always?: LogFields;
  /** Makes the text of a line, without a line break at its end; default: JSON. */
  readonly toLine?: (fields: LogFields) => string;
}

/** Returns a log that writes lines of `level` and those more severe. */
export function createLog(
  level: LogLevel,
  { target = process.stderr.fd ?? STANDARD_ERROR, always = {}, toLine = jsonLine }: LogOptions = {},
): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  let lines = '';
  let unwritten: Buffer = Buffer.alloc(0);
  let dropped = 0;
  let scheduled = false;

  /** Writes until nothing is left or a pipe is full; returns whether nothing is left. */
  function writeOut(): boolean {
    try {
      while (unwritten.length > 0 || lines !== '') {
        if (unwritten.length === 0) {
          unwritten = Buffer.from(lines);
          lines = '';
        }
        unwritten = unwritten.subarray(writeSync(target, unwritten, 0, pieceOf(unwritten)));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // A log that cannot be written (EPIPE, ENOSPC) must not end the service, and there is nowhere to tell it.
      unwritten = Buffer.alloc(0);
    }
    return true;
  }

  function writeLater(): void {
    scheduled = !writeOut();
    if (scheduled) setTimeout(writeLater, RETRY_MS).unref();
  }

  return {
    write(severity, message, fields = {}) {
      if (LOG_LEVELS.indexOf(severity) > threshold) return;
      if (lines.length > WAITING_LIMIT) {
        dropped += 1;
        return;
      }
      const lost = dropped === 0 ? {} : { dropped_lines: dropped };
      dropped = 0;
      lines += `${toLine({ time: new Date().toISOString(), level: severity, message, ...always, ...fields, ...lost })}\n`;
      if (scheduled) return;
      scheduled = true;
      setImmediate(writeLater);
    },

    flush() {
      const deadline = performance.now() + FLUSH_MS;
      while (!writeOut() && performance.now() < deadline) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    },
  };
}

/** How much of `bytes` to write at once: whole lines, as far as a pipe takes them in one piece. */
function pieceOf(bytes: Buffer): number {
  if (bytes.length <= PIECE_BYTES) return bytes.length;
  const whole = bytes.lastIndexOf('\n', PIECE_BYTES - 1) + 1;
  return whole > 0 ? whole : bytes.indexOf('\n') + 1;
}
