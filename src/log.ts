// The log: JSON lines on standard error, gathered and written in the background, so that neither a slow disk nor a full
// pipe holds up a request.
import { write, writeSync } from 'node:fs';
import { inspect } from 'node:util';

/** The levels from the most to the least severe; a log at a level writes that level and those before it. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** How much a log tells. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The members of a line beside its time, level and message. An Error is told with its stack and its causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes a line of JSON unless its level is less severe than the log's. Never throws, never blocks. */
export interface Log {
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: LogFields): void;
  /** Writes what is still waiting, blocking (500 ms at most if nobody reads): for the end of the process. */
  flush(): void;
}

/** What may wait to be written; what comes on top of that is counted and dropped. In characters. */
const WAITING_LIMIT = 8_388_608;

const RETRY_MS = 20;
const FLUSH_MS = 500;

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Returns a log that writes to the file descriptor `target`. A pipe should be non-blocking: a full one would hold a
 * thread for as long as nobody reads, and with it the end of the process. Node makes standard error so when asked for it.
 */
export function createLog(level: LogLevel, target: number = process.stderr.fd): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  let waiting = '';
  /** What a full pipe has refused, until it is tried again. */
  let refused: Buffer = NOTHING;
  let dropped = 0;
  let writing = false;

  function start(): void {
    if (writing || waiting === '') return;
    writing = true;
    setImmediate(writeWaiting);
  }

  function writeWaiting(): void {
    const bytes = Buffer.from(waiting);
    waiting = '';
    writeAll(bytes);
  }

  function writeAll(bytes: Buffer): void {
    write(target, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        refused = bytes;
        setTimeout(retry, RETRY_MS);
      } else if (!error && written < bytes.length) {
        writeAll(bytes.subarray(written));
      } else {
        // A log that cannot be written (EPIPE, ENOSPC) must not end the service.
        writing = false;
        start();
      }
    });
  }

  function retry(): void {
    const bytes = refused;
    refused = NOTHING;
    writeAll(bytes);
  }

  return {
    write(severity, message, fields = {}) {
      if (LOG_LEVELS.indexOf(severity) > threshold) return;
      if (waiting.length > WAITING_LIMIT) {
        dropped += 1;
        return;
      }
      const lost = dropped === 0 ? {} : { dropped_lines: dropped };
      dropped = 0;
      waiting += `${toLine({ time: new Date().toISOString(), level: severity, message, ...fields, ...lost })}\n`;
      start();
    },

    flush() {
      let bytes: Buffer = Buffer.concat([refused, Buffer.from(waiting)]);
      refused = NOTHING;
      waiting = '';
      const deadline = performance.now() + FLUSH_MS;
      while (bytes.length > 0) {
        try {
          bytes = bytes.subarray(writeSync(target, bytes));
        } catch (error) {
          // Of anything but a full pipe there is nowhere left to tell.
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > deadline) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
        }
      }
    },
  };
}

function toLine(fields: LogFields): string {
  try {
    return JSON.stringify(fields, (_, value) => (value instanceof Error ? describeError(value) : value));
  } catch {
    // A cycle or a BigInt has no JSON. Anything may be thrown, and telling it must not end the service.
    const { time, level, message, request_id } = fields;
    return JSON.stringify({ time, level, message, request_id, fields: inspect(fields) });
  }
}

function describeError(error: Error): LogFields {
  const { code } = error as NodeJS.ErrnoException;
  return { message: error.message, code, stack: error.stack, cause: error.cause };
}
