// Parses arguments into flags and words, and explains what is wrong with them.
import { parseArgs } from 'node:util';
import { suggestion } from '../suggestion.ts';

/** The command line or the environment is wrong. The message is one line for a person. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The declaration of a flag; without `value`, the name of its value in --help, it is a switch. */
export interface Flag {
  readonly flag: string;
  readonly short?: string;
  readonly value?: string;
  /** May be given several times; in the environment, commas separate the values. */
  readonly repeatable?: boolean;
  readonly default?: string;
  readonly help: string;
}

/** The values of flags; a switch is true, a repeatable flag has a list. */
export type FlagValues = ReturnType<typeof parseArgs>['values'];

export const HELP_FLAG: Flag = { flag: 'help', short: 'h', help: 'print this and exit' };

/** Parses arguments with the flags in `known` and with --help. Throws {@link UsageError}. */
export function parseArguments(
  args: readonly string[],
  known: readonly Flag[],
  takesWords: boolean,
): { readonly flags: FlagValues; readonly words: readonly string[] } {
  const flags = [...known, HELP_FLAG];
  const options = flags.map(({ flag, short, value, repeatable: multiple = false }) => [
    flag,
    { type: value ? 'string' : 'boolean', multiple, ...(short && { short }) } as const,
  ]);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: Object.fromEntries(options),
      allowPositionals: takesWords,
    });
    return { flags: values, words: positionals };
  } catch (error) {
    throw new UsageError(explain((error as Error).message, flags));
  }
}

/** Returns a flag with the name of its value, as in `--port PORT`. */
export function usageOf({ flag, value }: Flag): string {
  return value === undefined ? `--${flag}` : `--${flag} ${value}`;
}

/** Quotes an argument, unless it may contain a password. */
export function quote(argument: string): string {
  return argument.includes('@') ? "'...'" : `'${argument}'`;
}

/** Returns the first sentence of a message of parseArgs, with a suggestion. */
function explain(message: string, known: readonly Flag[]): string {
  const [sentence = message] = message.split(/\.\s/);
  const text = sentence
    .replace(/'([^']*@[^']*)'/g, (_, argument) => quote(argument))
    .replace(
      /^Option '(--[^ ']+).*' argument (is ambiguous|missing)$/s,
      "Option '$1' needs a value",
    )
    .replace(/^./, (first) => first.toLowerCase());
  const [, unknown = ''] = /^Unknown option '--?([^'=]*)'/.exec(sentence) ?? [];
  const names = known.map(({ flag }) => flag);
  return text + (unknown && suggestion(unknown, names, '--'));
}
