// A line of the log as people read it who sit at a terminal.
import { inspect } from 'node:util';
import type { LogFields } from './json-line.ts';

/** Codes of ECMA-48 (SGR). */
const COLOURS: Readonly<Record<string, string>> = { error: '31', warn: '33', info: '32', debug: '36' };
const DIM = '2';

/**
 * Returns what makes a line: the local time, the level, what happened, and its other members as `name=value`; an error with
 * its stack and its causes on lines below it. Control characters are written as escapes. Never throws.
 */
export function prettyLine(hasColours: boolean): (fields: LogFields) => string {
  const paint = (code: string, text: string) => (hasColours ? `\u001b[${code}m${text}\u001b[0m` : text);

  return ({ time, level, message, error, ...others }) => {
    const { method, route = '-', status = 'gone', ms, ...rest } = others;
    const isRequest = message === 'request';
    const what = isRequest ? `${method} ${route} ${status} ${ms} ms` : String(message);
    const members = Object.entries(isRequest ? rest : others).filter(([, value]) => value !== undefined);
    const words = [
      paint(DIM, clock(String(time))),
      paint(COLOURS[String(level)] ?? DIM, String(level).toUpperCase().padEnd(5)),
      visible(what),
      ...members.map(([name, value]) => paint(DIM, `${name}=${visible(shown(value))}`)),
    ];
    return [words.join(' '), ...(error === undefined ? [] : shown(error).split('\n').map(visible))].join('\n    ');
  };
}

function clock(time: string): string {
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY });
}

/** Returns the text with its control characters as escapes: nothing that a terminal would obey. */
export function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
