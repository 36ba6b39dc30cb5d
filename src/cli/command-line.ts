// Parses the command line: the options of the service, or a sub-command with its operand.
import type { StorageOptions } from '../open.ts';
import { suggestion } from '../suggestion.ts';
import { type FlagValues, parseArguments, quote, UsageError } from './arguments.ts';
import { type Input, SUB_COMMANDS, type SubCommand } from './commands.ts';
import { OPTIONS } from './option-table.ts';
import { parseDatabase, parseText } from './option-values.ts';
import { keyIn, type Options, parseOptions, passwordIn, readOptions } from './options.ts';

/** The flag that only the service has, not its sub-commands. */
export const VERSION_FLAG = { flag: 'version', short: 'V', help: 'print the version and exit' };

export type Command =
  | { readonly kind: 'serve'; readonly options: Options }
  /** Without a name, the help describes the service. */
  | { readonly kind: 'help'; readonly name?: string }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly run: NonNullable<SubCommand['run']>; readonly input: Input };

/** Parses the arguments (without node and script) and the environment. Throws UsageError. */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const [first, ...others] = args;
  if (first === undefined || first.startsWith('-')) {
    const { flags } = parseArguments(args, [...Object.values(OPTIONS), VERSION_FLAG], false);
    if (flags.help) return { kind: 'help' };
    if (flags.version) return { kind: 'version' };
    return { kind: 'serve', options: parseOptions(flags, environment) };
  }
  const command = findCommand(first);
  const { name, run } = command;
  const { flags, words } = parseArguments(others, command.flags, true);
  if (flags.help) return { kind: 'help', name };
  const operands = operandsIn(command, words);
  const [operand = ''] = operands;
  if (!run)
    return operand === '' ? { kind: 'help' } : { kind: 'help', name: findCommand(operand).name };
  const readsEnvironment = command.flags.some(({ flag }) => flag === 'db');
  const storage = storageFor(command, operand, flags, readsEnvironment ? environment : {});
  const readsKey = command.flags.some(({ flag }) => flag === 'key-file');
  const key = readsKey ? keyIn(environment) : undefined;
  return { kind: 'run', run, input: { operand, operands, flags, storage, key } };
}

/** Returns the sub-command with that name. Throws UsageError. */
export function findCommand(name: string): SubCommand {
  const found = SUB_COMMANDS.find((each) => each.name === name);
  if (found) return found;
  const names = SUB_COMMANDS.map((each) => each.name);
  throw new UsageError(`there is no command ${quote(name)}${suggestion(name, names)}`);
}

function operandsIn({ name, operand }: SubCommand, words: readonly string[]): string[] {
  if (operand === '' && words.length > 0) throw new UsageError(`${name} takes only options`);
  const isOptional = operand === '' || operand.startsWith('[');
  const wanted = operand.replace(/[[\]]/g, '').split(' ');
  if (words.length === wanted.length)
    return words.map((word, index) => parseText(word, wanted[index] ?? ''));
  if (words.length === 0 && isOptional) return [];
  const what = wanted.length > 1 ? wanted.join(' and ') : `one ${wanted}`;
  throw new UsageError(`${name} takes ${what}${isOptional ? ' at most' : ''}`);
}

function storageFor(
  { name, isForFiles = false, takesDatabase = false }: SubCommand,
  operand: string,
  flags: FlagValues,
  environment: NodeJS.ProcessEnv,
): StorageOptions {
  const declared = { db: OPTIONS.db, dbPasswordFile: OPTIONS.dbPasswordFile };
  const isGiven = takesDatabase && operand !== '';
  if (isGiven && flags.db !== undefined) throw new UsageError(`${name} takes DB or --db, not both`);
  const given = isGiven ? { ...flags, db: operand } : flags;
  const { db, dbPasswordFile } = readOptions(declared, given, environment);
  if (isForFiles && [db, parseDatabase(operand)].some(({ kind }) => kind !== 'file'))
    throw new UsageError(`${name} works with files only; for a cluster use export or import`);
  if (db.kind === 'memory') throw new UsageError(`${name} does not work with a database in memory`);
  return { db, dbPasswordFile, dbPassword: passwordIn(environment) };
}
