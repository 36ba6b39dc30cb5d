// Parsers for the values of options. Each parses the text of a value that is set, or throws
// UsageError.
import { availableParallelism } from 'node:os';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Location, parseLocation } from '../storage/location.ts';

/** The command line or the environment is wrong. The message is one line for a person. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The flags of a command line, by name. */
export type Flags = ReturnType<typeof parseArgs>['values'];

/** Parses the value of the option `flag`. */
type Parser<Value> = (text: string, flag: string) => Value;

const MAX_PROCESSES = 64;
const MAX_RATE_LIMIT = 1_000_000;
const CLUSTERS = 'rqlite://HOST:PORT,HOST:PORT with ?level=linearizable or weak and &user=NAME';

/**
 * Returns the flags among the arguments: those in `known`, --help (-h) and --version; and all other
 * arguments, if they are allowed.
 */
export function parseFlags(
  args: readonly string[],
  known: ParseArgsConfig['options'],
  allowPositionals = false,
): { flags: Flags; words: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...known, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } },
      allowPositionals,
    });
    return { flags: values, words: positionals };
  } catch (error) {
    const [sentence] = (error as Error).message.split(/\.\s/);
    // An argument with an @ may contain a password.
    throw new UsageError(sentence?.replace(/'[^']*@[^']*'/g, "'...'") ?? 'wrong options');
  }
}

function wrong(flag: string, wanted: string, text: string): UsageError {
  return new UsageError(`--${flag} takes ${wanted}, not ${JSON.stringify(text)}`);
}

/** Parses a list separated by commas. */
export function parseList(text: string): string[] {
  const values = text.split(',').map((value) => value.trim());
  return values.filter((value) => value !== '');
}

/** Parses origins in the form that browsers send, separated by commas. */
export function parseOrigins(text: string): string[] {
  const origins = parseList(text);
  for (const origin of origins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
    if (!isOrigin || !/^https?:/.test(origin)) {
      throw wrong('cors-origin', 'an origin such as https://example.com', origin);
    }
  }
  return origins;
}

/** Returns a parser of whole numbers from `min` to `max`. */
export function integer(min: number, max: number): Parser<number> {
  return (text, flag) => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw wrong(flag, `a whole number from ${min} to ${max}`, text);
  };
}

/** Returns a parser that accepts one of `choices`. */
export function oneOf<Choice extends string>(choices: readonly Choice[]): Parser<Choice> {
  return (text, flag) => {
    const found = choices.find((choice) => choice === text);
    if (found) return found;
    throw wrong(flag, `one of ${choices.join(', ')}`, text);
  };
}

/** Parses a switch: true, false, 1 or 0. */
export function parseSwitch(text: string, flag: string): boolean {
  return (
    oneOf(['true', 'false'])(text.replace(/^1$/, 'true').replace(/^0$/, 'false'), flag) === 'true'
  );
}

/** Parses an http or https URL; returns it without a slash at its end. */
export function parseUrl(text: string, flag: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  // The parsed URL does not show an empty query or fragment.
  if (!isHttp || /[?#]/.test(text) || url.username || url.password) {
    throw wrong(flag, 'an http or https URL without user, query and fragment', text);
  }
  // In a location header, `//` at the start of a path would lead to another host.
  if (url.pathname.startsWith('//')) {
    throw wrong(flag, 'a URL whose path begins with one slash', text);
  }
  return url.href.replace(/\/+$/, '');
}

/** Parses the location of a database: a file, `:memory:` or the address of a cluster. */
export function parseDatabase(text: string): Location {
  if (text === '') throw new UsageError('--db must not be empty');
  const location = parseLocation(text);
  if (location) return location;
  if (/^rqlites?:/i.test(text)) throw new UsageError(`--db takes ${CLUSTERS}`);
  // The text may contain a password.
  const quoted = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`;
  throw new UsageError(`--db takes a file, :memory: or ${CLUSTERS}${quoted}`);
}

/** Parses a number of processes; `auto` means one for each core. */
export function parseProcesses(text: string, flag: string): number {
  return text === 'auto'
    ? Math.min(availableParallelism(), MAX_PROCESSES)
    : integer(1, MAX_PROCESSES)(text, flag);
}

/** Parses requests per minute, or `off`. */
export function parseRateLimit(text: string, flag: string): number | 'off' {
  return text === 'off' ? text : integer(1, MAX_RATE_LIMIT)(text, flag);
}

/** Parses a text that must not be empty. */
export function parseText(text: string, flag: string): string {
  if (text === '') throw new UsageError(`--${flag} must not be empty`);
  return text;
}
