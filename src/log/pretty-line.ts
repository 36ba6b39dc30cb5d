// Formats log lines for people at a terminal.
import { inspect, styleText } from 'node:util';
import type { LogFields } from './log.ts';

const COLOURS = { error: 'red', warn: 'yellow', info: 'green', debug: 'cyan' } as const;

/** Formats a line, in colours on a terminal, and escapes control characters. Never throws. */
export function prettyLine({ time, level, message, error, ...others }: LogFields): string {
  const { method, route = '-', status = 'gone', ms, ...rest } = others;
  const isRequest = message === 'request';
  const what = isRequest ? `${method} ${route} ${status} ${ms} ms` : String(message);
  const members = Object.entries(isRequest ? rest : others).filter(
    ([, value]) => value !== undefined,
  );
  const words = [
    paint('dim', clockTime(String(time))),
    paint(COLOURS[level as keyof typeof COLOURS], String(level).toUpperCase().padEnd(5)),
    escapeControls(what),
    ...members.map(([name, value]) => paint('dim', `${name}=${escapeControls(format(value))}`)),
  ];
  const details = error === undefined ? [] : format(error).split('\n').map(escapeControls);
  return [words.join(' '), ...details].join('\n    ');
}

function paint(style: Parameters<typeof styleText>[0], text: string): string {
  return styleText(style, text, { stream: process.stderr });
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
