// Parsers for the values of options. Each takes the text of a value and returns what it stands for,
// or throws UsageError.
import { availableParallelism } from 'node:os';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Location, parseLocation } from '../storage/location.ts';

/** The command line or the environment is wrong. The message is one line for a person. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Flags = ReturnType<typeof parseArgs>['values'];

const MAX_PROCESSES = 64;
const MAX_RATE_LIMIT = 1_000_000;
const CLUSTERS = 'rqlite://HOST:PORT,HOST:PORT with ?level=linearizable or weak and &user=NAME';

/** Returns the flags among the arguments: those in `known`, --help (-h) and --version. */
export function parseFlags(args: readonly string[], known: ParseArgsConfig['options']): Flags {
  return parseWords(args, known, false).flags;
}

/**
 * Returns the flags among the arguments, as {@link parseFlags} does, and the words between them.
 */
export function parseWords(
  args: readonly string[],
  known: ParseArgsConfig['options'],
  allowPositionals = true,
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
    // An argument with an @ may hold a password.
    throw new UsageError(sentence?.replace(/'[^']*@[^']*'/g, "'...'") ?? 'wrong options');
  }
}

/** Parses a list separated by commas. */
export function parseList(text = ''): string[] {
  const values = text.split(',').map((value) => value.trim());
  return values.filter((value) => value !== '');
}

/** Parses origins, written as browsers write them, separated by commas. */
export function parseOrigins(text: string | undefined): string[] {
  const origins = parseList(text);
  for (const origin of origins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
    if (!isOrigin || !/^https?:/.test(origin)) {
      throw new UsageError(
        `--cors-origin takes an origin such as https://example.com, not ${JSON.stringify(origin)}`,
      );
    }
  }
  return origins;
}

/** Returns a parser of whole numbers in digits, from `min` to `max`. */
export function integer(
  min: number,
  max: number,
): (text: string | undefined, flag: string) => number {
  return (text = '', flag) => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new UsageError(
      `--${flag} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`,
    );
  };
}

/** Returns a parser of one of the choices. */
export function oneOf<Choice extends string>(
  choices: readonly Choice[],
): (text: string | undefined, flag: string) => Choice {
  return (text, flag) => {
    const found = choices.find((choice) => choice === text);
    if (found) return found;
    throw new UsageError(
      `--${flag} takes one of ${choices.join(', ')}, not ${JSON.stringify(text)}`,
    );
  };
}

/** Parses a switch: true, false, 1 or 0; false if it is not set. */
export function parseSwitch(text = 'false', flag: string): boolean {
  return (
    oneOf(['true', 'false'])(text.replace(/^1$/, 'true').replace(/^0$/, 'false'), flag) === 'true'
  );
}

/**
 * Parses an http or https URL and returns it without a slash at its end; undefined if it is not
 * set.
 */
export function parseUrl(text: string | undefined, flag: string): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An empty query or fragment shows in the text only.
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    /[?#]/.test(text) ||
    url.username ||
    url.password
  ) {
    throw new UsageError(
      `--${flag} takes an http or https URL without user, query and fragment, not ${JSON.stringify(text)}`,
    );
  }
  // In a location header such a path would name another host.
  if (url.pathname.startsWith('//')) {
    throw new UsageError(
      `--${flag} takes a URL whose path begins with one slash, not ${JSON.stringify(text)}`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Parses the name of a database: a file, `:memory:` or the address of a cluster. */
export function parseDatabase(text = ''): Location {
  if (text === '') throw new UsageError('--db must not be empty');
  const location = parseLocation(text);
  if (location) return location;
  if (/^rqlites?:/i.test(text)) throw new UsageError(`--db takes ${CLUSTERS}`);
  // The text may hold a password.
  const quoted = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`;
  throw new UsageError(`--db takes a file, :memory: or ${CLUSTERS}${quoted}`);
}

/** Parses a number of processes; `auto` is one for each core. */
export function parseProcesses(text: string | undefined, flag: string): number {
  return text === 'auto'
    ? Math.min(availableParallelism(), MAX_PROCESSES)
    : integer(1, MAX_PROCESSES)(text, flag);
}

/** Parses requests per minute, or `off`; undefined if it is not set. */
export function parseRateLimit(text: string | undefined, flag: string): number | 'off' | undefined {
  return text === undefined || text === 'off' ? text : integer(1, MAX_RATE_LIMIT)(text, flag);
}

/**
 * Returns a parser of a text that must not be empty; undefined if it is not set and there is no
 * default.
 */
export function parseText(text: string | undefined, flag: string): string | undefined {
  if (text === '') throw new UsageError(`--${flag} must not be empty`);
  return text;
}
