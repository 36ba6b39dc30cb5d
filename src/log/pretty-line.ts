// Formats log lines for people at a terminal.
import { inspect } from 'node:util';
import type { LogFields } from './log.ts';

const COLOURS: Record<string, string> = { error: '31', warn: '33', info: '32', debug: '36' };
const DIM = '2';

/** Returns a formatter of lines, which escapes control characters and never throws. */
export function prettyLine(hasColours: boolean): (fields: LogFields) => string {
  const paint = (code: string | undefined, text: string) =>
    hasColours ? `\u001b[${code}m${text}\u001b[0m` : text;

  return ({ time, level, message, error, ...others }) => {
    const { method, route = '-', status = 'gone', ms, ...rest } = others;
    const isRequest = message === 'request';
    const what = isRequest ? `${method} ${route} ${status} ${ms} ms` : String(message);
    const members = Object.entries(isRequest ? rest : others).filter(
      ([, value]) => value !== undefined,
    );
    const words = [
      paint(DIM, clockTime(String(time))),
      paint(COLOURS[String(level)], String(level).toUpperCase().padEnd(5)),
      escapeControls(what),
      ...members.map(([name, value]) => paint(DIM, `${name}=${escapeControls(format(value))}`)),
    ];
    const details = error === undefined ? [] : format(error).split('\n').map(escapeControls);
    return [words.join(' '), ...details].join('\n    ');
  };
}

/** Returns the local time of an ISO date, whose milliseconds are the same everywhere. */
function clockTime(time: string): string {
  return `${new Date(time).toTimeString().slice(0, 8)}${time.slice(19, 23)}`;
}

function format(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
}

/** Escapes the control characters of `text`, which a terminal would obey. */
export function escapeControls(text: string): string {
  const hex = (character: string) => `\\x${Buffer.from(character, 'latin1').toString('hex')}`;
  return text.replace(/\p{Cc}/gu, hex);
}
