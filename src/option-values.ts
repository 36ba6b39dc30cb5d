// What options and their values may be: most functions take the text of a value and return what it stands for.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { parseCluster } from './storage/rqlite-address.ts';

/** The command line or the environment is wrong; the message is one line for a person. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Flags = ReturnType<typeof parseArgs>['values'];

const CLUSTERS = 'rqlite://HOST:PORT,HOST:PORT with ?level=linearizable or weak and &user=NAME';

/** The flags among the arguments, --help (-h) and --version beside the `known`. Throws {@link UsageError}. */
export function parseFlags(args: readonly string[], known: ParseArgsConfig['options']): Flags {
  return parseWords(args, known, false).flags;
}

/** The flags among the arguments as {@link parseFlags} finds them, and the words between them, where there may be any. */
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
    // Somebody may have put a password there.
    throw new UsageError(sentence?.replace(/'[^']*@[^']*'/g, "'...'") ?? 'wrong options');
  }
}

/** The values of a list that is parted by commas. */
export function listed(text = ''): string[] {
  const values = text.split(',').map((value) => value.trim());
  return values.filter((value) => value !== '');
}

/** An origin, written as browsers write it. Throws {@link UsageError}, as all that follow do. */
export function origin(text: string): string {
  const found = URL.canParse(text) ? new URL(text).origin : undefined;
  if (found !== text || !/^https?:/.test(text)) {
    throw new UsageError(`--cors-origin takes an origin such as https://example.com, not ${JSON.stringify(text)}`);
  }
  return text;
}

/** A whole number in digits. */
export function integer(flag: string, text: string, least: number, most: number): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) {
    throw new UsageError(`--${flag} takes a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
  }
  return value;
}

/** One of the choices. */
export function oneOf<Choice extends string>(flag: string, text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === text);
  if (!found) throw new UsageError(`--${flag} takes one of ${choices.join(', ')}, not ${JSON.stringify(text)}`);
  return found;
}

/** A switch: true, false, 1 or 0; false where it is not set. */
export function truth(flag: string, text = 'false'): boolean {
  return oneOf(flag, text.replace(/^1$/, 'true').replace(/^0$/, 'false'), ['true', 'false']) === 'true';
}

/** An http or https URL without a slash at the end. */
export function url(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  // An empty query or fragment leaves its mark in the text alone.
  if (!parsed || !/^https?:$/.test(parsed.protocol) || /[?#]/.test(text) || parsed.username || parsed.password) {
    throw new UsageError(
      `--${flag} takes an http or https URL without user, query and fragment, not ${JSON.stringify(text)}`,
    );
  }
  // In a location such a path would be taken for another host.
  if (parsed.pathname.startsWith('//')) {
    throw new UsageError(`--${flag} takes a URL whose path begins with one slash, not ${JSON.stringify(text)}`);
  }
  return parsed.href.replace(/\/+$/, '');
}

/** A file, `:memory:` or the address of a cluster. */
export function database(text: string): string {
  if (text === '') throw new UsageError('--db must not be empty');
  const isCluster = /^rqlites?:/i.test(text);
  // Not quoted: somebody may have put a password there.
  if (isCluster && !parseCluster(text)) throw new UsageError(`--db takes ${CLUSTERS}`);
  if (!isCluster && /^[a-z]+:\/\//i.test(text)) {
    const told = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`;
    throw new UsageError(`--db takes a file, :memory: or ${CLUSTERS}${told}`);
  }
  return text;
}
