// The log: JSON lines on standard error, gathered and written in the background, so that neither a slow disk nor a full
// pipe holds up a request.
import { write, writeSync } from 'node:fs';

/** The levels from the most to the least severe; a log at a level writes that level and those before it. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** How much a log tells. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The members of a line beside its time, level and message. An Error is told with its stack and its causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes a line of JSON unless its level is less severe than the log's. Never throws, never blocks. */
export interface Log {
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: LogFields): void;
  /** Writes what is still waiting, blocking: for the end of the process. */
  flush(): void;
}

const STDERR = 2;

/** What may wait to be written; what comes on top of that is counted and dropped. In characters. */
const WAITING_LIMIT = 8_388_608;

const RETRY_MS = 20;

/** Returns a log that writes to the file descriptor `target`. */
export function createLog(level: LogLevel, target: number = STDERR): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  let waiting = '';
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
    writeAll(bytes, 0);
  }

  function writeAll(bytes: Buffer, offset: number): void {
    write(target, bytes, offset, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => writeAll(bytes, offset), RETRY_MS);
      } else if (!error && offset + written < bytes.length) {
        writeAll(bytes, offset + written);
      } else {
        // A log that cannot be written (EPIPE, ENOSPC) must not end the service.
        writing = false;
        start();
      }
    });
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
      const text = waiting;
      waiting = '';
      try {
        writeSync(target, text);
      } catch {
        // There is nowhere left to tell it.
      }
    },
  };
}

function toLine(fields: LogFields): string {
  return JSON.stringify(fields, (_, value) => (value instanceof Error ? describeError(value) : value));
}

function describeError(error: Error): LogFields {
  const { code } = error as NodeJS.ErrnoException;
  return { message: error.message, code, stack: error.stack, cause: error.cause };
}
