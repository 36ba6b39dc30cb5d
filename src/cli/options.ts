// The options of the service, as command line and environment set them.
import { isIP } from 'node:net';
import { KEY } from '../guards/key-file.ts';
import { requiresKey } from '../guards/keys.ts';
import { suggestion } from '../suggestion.ts';
import { type FlagValues, UsageError } from './arguments.ts';
import { type Declaration, MIN_THREADS, OPTIONS, PUBLIC_RATE_LIMIT } from './option-table.ts';
import { parseList } from './option-values.ts';

const DECLARATIONS: readonly Declaration[] = Object.values(OPTIONS);

const PREFIX = 'NOTES_';

/** A value that Kubernetes sets for a Service, and the names of its other variables. */
const LINK = /^(?:tcp|udp|sctp):\/\/[^/]+:\d+$/;
const LINK_NAME = /_SERVICE_(?:HOST|PORT)|_PORT_\d+_/;
const LINKS = 'Kubernetes sets this for a Service (enableServiceLinks: false prevents it)';

type Declarations = Readonly<Record<string, Declaration>>;

/** The options as parsed from their texts; one without a default is undefined if it is not set. */
type Parsed<Declared extends Declarations = typeof OPTIONS> = {
  readonly [Name in keyof Declared]: ValueOf<Declared[Name]>;
};
type ValueOf<Declared extends Declaration> =
  | ReturnType<Declared['parse']>
  | (Declared extends { readonly default: string } ? never : undefined);

/** All options of the service, with the values that derive from several of them. */
export interface Options extends Omit<Parsed, 'rateLimit'> {
  readonly rateLimit: number | undefined;
  /** The keys in the environment; a file may contain more. */
  readonly apiKeys: readonly string[];
  readonly dbPassword: string | undefined;
  /** The share of this process. */
  readonly maxThreads: number;
}

/** Returns the options. Throws {@link UsageError}. */
export function parseOptions(flags: FlagValues, environment: NodeJS.ProcessEnv): Options {
  const parsed = readOptions(OPTIONS, flags, environment);
  if (parsed.socket !== undefined && (flags.host ?? flags.port) !== undefined)
    throw new UsageError('--socket replaces --host and --port: give one or the other');
  return complete(parsed, environment);
}

/** Returns the values of the options in `declared`. Throws {@link UsageError}. */
export function readOptions<Declared extends Declarations>(
  declared: Declared,
  flags: FlagValues,
  environment: NodeJS.ProcessEnv,
): Parsed<Declared> {
  const entries = Object.entries(declared).map(([key, declaration]) => {
    const { flag, variable = '', default: byDefault, parse } = declaration;
    const variables = flags[flag] === undefined ? [variableOf(flag), variable] : [];
    // An empty variable counts as not set.
    const source = variables.find((each) => environment[each] && !isLink(environment, each));
    // The library may be given null, which is no value of any option.
    const given = flags[flag] === undefined ? byDefault : flags[flag];
    const text = source ? readVariable(environment, source) : given;
    return [key, text === undefined ? undefined : parse(String(text), source ?? `--${flag}`)];
  });
  return Object.fromEntries(entries) as Parsed<Declared>;
}

/** Returns the flags of the options of the library, by their names there. */
export function libraryFlags(): ReadonlyMap<string, string> {
  const toCamelCase = (flag: string) => flag.replace(/-./g, (pair) => pair.slice(1).toUpperCase());
  const declared = DECLARATIONS.filter(({ commandOnly }) => !commandOnly);
  return new Map(declared.map(({ flag }) => [toCamelCase(flag), flag]));
}

/**
 * Returns the names of variables that look like options but are none, with suggestions, and at the
 * end those that Kubernetes sets, as one text. The service itself has no use for a client's key.
 */
export function unknownVariables(environment: NodeJS.ProcessEnv, isService = true): string[] {
  // These have no flag, because all users of a machine can read command lines.
  const ofService = ['NOTES_API_KEYS', 'NOTES_DB_PASSWORD'];
  const secrets = isService ? ofService : [...ofService, 'NOTES_KEY'];
  const known = [...DECLARATIONS.map(({ flag }) => variableOf(flag)), ...secrets];
  const given = Object.keys(environment).filter((name) => name.startsWith(PREFIX));
  const links = given.filter((name) => !secrets.includes(name) && isLink(environment, name));
  const unknown = given.filter((name) => !known.includes(name) && !links.includes(name));
  const names = known.map((name) => name.slice(PREFIX.length));
  const texts = unknown.map((name) => name + suggestion(name.slice(PREFIX.length), names, PREFIX));
  return links.length === 0 ? texts : [...texts, `${links.join(', ')}: ${LINKS}`];
}

/** Whether a variable counts as not set, because it is not meant for the service. */
function isLink(environment: NodeJS.ProcessEnv, name: string): boolean {
  return LINK.test(environment[name] ?? '') || LINK_NAME.test(name);
}

/** Whether only this machine can reach a service: on a Unix socket or a loopback address. */
export function isLocal({ host, socket }: Pick<Options, 'host' | 'socket'>): boolean {
  if (socket !== undefined || host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Returns the password for a cluster, unless it is in a file. Throws {@link UsageError}. */
export function passwordIn(environment: NodeJS.ProcessEnv): string | undefined {
  return readVariable(environment, 'NOTES_DB_PASSWORD') || undefined;
}

/** Returns the key that a client sends. Throws {@link UsageError}. */
export function keyIn(environment: NodeJS.ProcessEnv): string | undefined {
  return readVariable(environment, 'NOTES_KEY') || undefined;
}

function complete(parsed: Parsed, environment: NodeJS.ProcessEnv): Options {
  const { host, rateLimit, processes, maxThreads, apiKeysFile, allowAnonymous, db } = parsed;
  const keys = readVariable(environment, 'NOTES_API_KEYS');
  const apiKeys = parseList(keys);
  if (keys && (apiKeys.length === 0 || !apiKeys.every((key) => KEY.test(key))))
    throw new UsageError(
      'NOTES_API_KEYS takes keys of visible ASCII, not in quotes, separated by commas',
    );
  if (processes > 1 && db.kind === 'memory')
    throw new UsageError(
      '--processes needs a file or a cluster: processes cannot share a database in memory',
    );
  if (!isLocal(parsed) && !requiresKey({ apiKeys, apiKeysFile }) && !allowAnonymous)
    throw new UsageError(
      `anybody who reaches ${host} could write: set NOTES_API_KEYS or --api-keys-file, or ` +
        '--allow-anonymous if you mean it',
    );
  const limit = rateLimit ?? (isLocal(parsed) ? 'off' : PUBLIC_RATE_LIMIT);
  return {
    ...parsed,
    dbPassword: passwordIn(environment),
    apiKeys,
    rateLimit: limit === 'off' ? undefined : limit,
    maxThreads: Math.max(MIN_THREADS, Math.floor(maxThreads / processes)),
  };
}

/** Returns a variable, or ''. Throws {@link UsageError} if quotes of an env file are part of it. */
function readVariable(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name] ?? '';
  if (/^\s*(["']).*\1\s*$/s.test(value))
    throw new UsageError(
      `${name} has quotes around its value, which would be part of it: leave them out`,
    );
  return value;
}

function variableOf(flag: string): string {
  return `${PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`;
}
