// Formats log lines as JSON, for programs.
import { inspect } from 'node:util';

/** The members of a log line: time, level, message and others. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Returns the line as JSON, without a line break. An Error becomes its message, code, stack and
 * cause. Never throws.
 */
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
