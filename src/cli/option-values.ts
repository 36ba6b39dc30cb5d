// Parsers for the values of options. Each parses the text of a value, or throws a UsageError that
// states its source `name`: a flag such as `--port`, or a variable such as `NOTES_PORT`.
import { availableParallelism } from 'node:os';
import type { Location } from '../open.ts';
import { clusterAt } from '../rqlite/feature.ts';
import { UsageError } from './arguments.ts';

type Parser<Value> = (text: string, name: string) => Value;

const MAX_PROCESSES = 64;
/** The shortest limit of a system (macOS) for the path of a Unix socket. */
const MAX_SOCKET_BYTES = 103;
const CLUSTERS = 'rqlite://HOST:PORT,HOST:PORT with ?level=linearizable or weak and &user=NAME';

function wrong(name: string, wanted: string, text: string): UsageError {
  return new UsageError(`${name} takes ${wanted}, not ${JSON.stringify(text)}`);
}

/** Parses a list separated by commas. */
export function parseList(text: string): string[] {
  const values = text.split(',').map((value) => value.trim());
  return values.filter((value) => value !== '');
}

/** Parses origins in the form that browsers send, separated by commas. */
export function parseOrigins(text: string, name: string): string[] {
  const origins = parseList(text);
  for (const origin of origins) {
    const sent = originOf(origin);
    if (!sent) throw wrong(name, 'an origin such as https://example.com or app://example', origin);
    const rule = 'without capitals, default port, path or slash at its end';
    if (sent !== origin) throw wrong(name, `${JSON.stringify(sent)}, ${rule}`, origin);
  }
  return origins;
}

/** Returns the origin of a page at `text`; `URL` knows none of extensions and apps. */
function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A host with a wildcard is an origin of no page.
  if (!url?.host || url.host.includes('*')) return undefined;
  if (url.origin === 'null') return `${url.protocol}//${url.host}`;
  return /^https?:/.test(url.protocol) ? url.origin : undefined;
}

/** Returns a parser of whole numbers from `min` to `max`; its errors also offer `alternative`. */
export function integer(min: number, max: number, alternative?: string): Parser<number> {
  return (text, name) => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const either = alternative === undefined ? '' : `${alternative} or `;
    throw wrong(name, `${either}a whole number from ${min} to ${max}`, text);
  };
}

/** Returns a parser that accepts one of `choices`. */
export function oneOf<Choice extends string>(choices: readonly Choice[]): Parser<Choice> {
  return (text, name) => {
    const found = choices.find((choice) => choice === text);
    if (found) return found;
    throw wrong(name, `one of ${choices.join(', ')}`, text);
  };
}

/** Parses a switch. */
export function parseSwitch(text: string, name: string): boolean {
  return ['true', '1'].includes(oneOf(['true', 'false', '1', '0'])(text, name));
}

/** Parses an http or https URL; returns it without a slash at its end. */
export function parseUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  // The parsed URL does not show an empty query or fragment.
  if (!isHttp || /[?#]/.test(text) || url.username || url.password)
    throw wrong(name, 'an http or https URL without user, query and fragment', text);
  // In a location header, `//` at the start of a path would lead to another host.
  if (url.pathname.startsWith('//'))
    throw wrong(name, 'a URL whose path begins with one slash', text);
  return url.href.replace(/\/+$/, '');
}

/** Parses the location of a database: a file, `:memory:` or the address of a cluster. */
export function parseDatabase(text: string, name = '--db'): Location {
  if (parseText(text, name) === ':memory:') return { kind: 'memory', name: text };
  const cluster = clusterAt(text);
  if (cluster) return { kind: 'cluster', name: text, ...cluster };
  // The text may contain a password, so the message does not quote it.
  if (/^(?:rqlites?:|[a-z]+:\/\/)/i.test(text))
    throw new UsageError(`${name} takes a file, :memory: or ${CLUSTERS}`);
  return { kind: 'file', name: text };
}

/** Parses a number of processes; `auto` means one for each core. */
export function parseProcesses(text: string, name: string): number {
  return text === 'auto'
    ? Math.min(availableParallelism(), MAX_PROCESSES)
    : integer(1, MAX_PROCESSES, 'auto')(text, name);
}

/** Parses requests per minute, or `off`. */
export function parseRateLimit(text: string, name: string): number | 'off' {
  return text === 'off' ? text : integer(1, 1_000_000, 'off')(text, name);
}

/** Parses a text that must not be empty. */
export function parseText(text: string, name: string): string {
  if (text === '') throw new UsageError(`${name} must not be empty`);
  return text;
}

/** Parses an IP address or a host name. */
export function parseHost(text: string, name: string): string {
  const host = parseText(text, name);
  if (host.startsWith('[')) throw wrong(name, 'an address without brackets, such as ::1', text);
  if (!host.includes('/')) return host;
  throw wrong(name, 'an address or a host name (--socket takes the path of a Unix socket)', text);
}

/** Parses the path of a Unix socket. */
export function parseSocket(text: string, name: string): string {
  if (Buffer.byteLength(text) > MAX_SOCKET_BYTES)
    throw wrong(name, `a path of at most ${MAX_SOCKET_BYTES} bytes`, text);
  return parseText(text, name);
}
