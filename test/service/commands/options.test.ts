// The command line and the environment, without a process: every option in every way, and every
// wrong value.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import fc from 'fast-check';
import { UsageError } from '../../../src/cli/arguments.ts';
import { findCommand, parseCommand } from '../../../src/cli/command-line.ts';
import type { Input } from '../../../src/cli/commands.ts';
import { helpText } from '../../../src/cli/help.ts';
import { OPTIONS } from '../../../src/cli/option-table.ts';
import { parseDatabase } from '../../../src/cli/option-values.ts';
import { type Options, unknownVariables } from '../../../src/cli/options.ts';
import { passwordOf } from '../../../src/open.ts';
import { parseCluster } from '../../../src/rqlite/address.ts';

type Value = Options[keyof Options];

/** A text of an option and the value it sets, by default the text itself. */
type Given = readonly [text: string, value?: Value];

/** An option with its default and two texts. The flag alone sets a switch. */
type Sample = readonly [string, keyof Options, Value, first: Given, second: Given, isSwitch?: true];

const DB = { kind: 'file', name: 'notes.db' } as const;
const MEMORY = { kind: 'memory', name: ':memory:' } as const;
const ORIGINS = [
  ...['http://b.example:8080', 'https://xn--bcher-kva.example', 'capacitor://localhost'],
  ...['chrome-extension://abcdefghijklmnopabcdefghijklmnop', 'app://obsidian.md'],
  ...['moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc', 'app.v2+x://a:1'],
  'safari-web-extension://9D6A2C30-5B7B-4B6E-9A54-1C8B2F0E7D11',
];

const SAMPLES: readonly Sample[] = [
  ['host', 'host', '127.0.0.1', ['127.0.0.2'], ['::1']],
  ['port', 'port', 3000, ['0', 0], ['65535', 65_535]],
  ['db', 'db', DB, [':memory:', MEMORY], ['a b.db', { ...DB, name: 'a b.db' }]],
  ['api-keys-file', 'apiKeysFile', undefined, ['keys'], ['/etc/a b']],
  ['rate-limit', 'rateLimit', undefined, ['1', 1], ['1000000', 1_000_000]],
  ['base-url', 'baseUrl', undefined, ['http://a.org'], ['https://a:84/b//', 'https://a:84/b']],
  ['trust-proxy', 'trustProxy', false, ['1', true], ['false', false], true],
  ['processes', 'processes', 1, ['2', 2], ['64', 64]],
  ['socket', 'socket', undefined, ['a.sock'], ['x'.repeat(103)]],
  ['idle-timeout', 'idleTimeoutS', 5, ['1', 1], ['3600', 3_600]],
  ['allow-anonymous', 'allowAnonymous', false, ['true', true], ['0', false], true],
  ['cors-origin', 'corsOrigins', [], ['http://a', ['http://a']], [`${ORIGINS}`, ORIGINS]],
  ['body-limit', 'bodyLimitBytes', 1_048_576, ['1', 1], ['268435456', 268_435_456]],
  ['problem-base', 'problemBase', undefined, ['http://a.b/p'], ['HTTPS://A.B/p', 'https://a.b/p']],
  ['db-password-file', 'dbPasswordFile', undefined, ['a'], ['b']],
  ['history-days', 'historyDays', 30, ['0', 0], ['36500', 36_500]],
  ['max-threads', 'maxThreads', 64, ['16', 16], ['1024', 1_024]],
  ['cache-size', 'cacheSizeMib', 64, ['0', 0], ['65536', 65_536]],
  ['no-metrics', 'noMetrics', false, ['true', true], ['0', false], true],
  ['no-mcp', 'noMcp', false, ['true', true], ['0', false], true],
  ['log-level', 'logLevel', 'info', ['silent'], ['debug']],
  ['log-format', 'logFormat', 'auto', ['json'], ['pretty']],
];
const FLAGS = SAMPLES.map(([flag]) => flag);

const variable = (flag: string) => `NOTES_${flag.toUpperCase().replaceAll('-', '_')}`;

function options(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Options {
  const command = parseCommand(args, environment);
  assert.equal(command.kind, 'serve');
  return command.kind === 'serve' ? command.options : assert.fail();
}

/** Asserts that the command line is refused in words that `reason` matches, or with that text. */
function refuses(
  args: readonly string[],
  reason: RegExp | string,
  environment: Readonly<Record<string, string>> = {},
): void {
  const isReason = ({ name, message }: Error) =>
    name === UsageError.name &&
    (typeof reason === 'string' ? message.includes(reason) : reason.test(message));
  assert.throws(() => parseCommand(args, environment), isReason, `${args} ${reason}`);
}

test('options: help of everything', () => {
  assert.deepEqual(parseCommand(['help'], {}), { kind: 'help' });
  assert.deepEqual(parseCommand(['help', '--help'], {}), { kind: 'help', name: 'help' });
  refuses(['help', 'check', 'backup'], 'help takes one COMMAND at most');
  const examples = [...helpText().matchAll(/^ {2}notes-server (.*)$/gm)];
  assert.equal(examples.length, 3);
  for (const [, args = ''] of examples) parseCommand(args.split(' '), {});
});

test('options: --help lists each with its default', () => {
  const file = 'test/service/commands/options.test.ts';
  for (const { flag } of Object.values(OPTIONS))
    assert.ok(FLAGS.includes(flag), `add --${flag} to SAMPLES in ${file}, in the order of --help`);
  const lines = helpText().matchAll(/^ {2}(?:-\w, )?--([a-z-]+)(?: [A-Z]+)? .*$/gm);
  const listed = new Map([...lines].map(([line, flag = '']) => [flag, line]));
  assert.deepEqual([...listed.keys()], [...FLAGS, 'help', 'version']);
  for (const [flag, , byDefault, , , isSwitch] of SAMPLES) {
    if (!byDefault || isSwitch || Array.isArray(byDefault)) continue;
    const text = typeof byDefault === 'object' && 'name' in byDefault ? byDefault.name : byDefault;
    assert.ok(listed.get(flag)?.endsWith(`(default: ${text})`), flag);
  }
});

test('options: the defaults', () => {
  const defaults = Object.fromEntries(SAMPLES.map(([, key, byDefault]) => [key, byDefault]));
  assert.deepEqual(options([]), { ...defaults, apiKeys: [], dbPassword: undefined });
});

for (const [flag, key, , first, second, isSwitch] of SAMPLES) {
  const name = variable(flag);
  const given = ([text]: Given) => (isSwitch ? [`--${flag}`] : [`--${flag}`, text]);
  const setBy = ([text, value = text]: Given) => value;

  test(`options: --${flag} or else ${name} sets ${key}`, () => {
    assert.deepEqual(options(given(first))[key], setBy(first));
    for (const each of isSwitch ? [] : [second]) {
      assert.deepEqual(options(given(each))[key], setBy(each));
      assert.deepEqual(options([`--${flag}=${each[0]}`])[key], setBy(each));
    }
    for (const each of [first, second])
      assert.deepEqual(options([], { [name]: each[0] })[key], setBy(each));
    assert.deepEqual(options(given(first), { [name]: second[0] })[key], setBy(first));
    // An empty variable counts as not set.
    assert.deepEqual(options([], { [name]: '' }), options([]));
  });
}

test('options: PORT and HOST count if ours are not set or empty', () => {
  const common = { PORT: '8080', HOST: '127.0.0.2' };
  for (const [environment, args, host, port] of [
    [common, [], '127.0.0.2', 8080],
    [{ ...common, NOTES_PORT: '', NOTES_HOST: '' }, [], '127.0.0.2', 8080],
    [{ ...common, NOTES_PORT: '9090' }, [], '127.0.0.2', 9090],
    [{ ...common, NOTES_HOST: '127.0.0.3' }, [], '127.0.0.3', 8080],
    [common, ['--port', '1', '--host', '::1'], '::1', 1],
    [{ PORT: '', HOST: '' }, [], '127.0.0.1', 3000],
  ] as const) {
    const set = options(args, environment);
    assert.deepEqual([set.host, set.port], [host, port]);
  }
  const names = ['NOTES_HELP', 'NOTES_VERSION', 'DB', 'LOG_LEVEL', 'notes_port'];
  const others = Object.fromEntries(names.map((name) => [name, 'nonsense']));
  assert.deepEqual(options([], others), options([]));
});

const WRONG_URLS = [
  ...['', 'example.org', '/api', 'ftp://example.org', 'http://', 'http://example.org/?a=b'],
  ...['http://example.org/#a', 'http://example.org?', 'http://example.org/#'],
  ...['http://me@example.org', 'http://:pw@example.org', 'http://example.org//evil.example'],
  ...['http://example.org/\\\\evil.example', 'http://example.org/a/..//evil.example'],
];

const WRONG: Readonly<Record<string, readonly string[]>> = {
  host: ['', '/tmp/x.sock', 'http://127.0.0.1'],
  port: ['', 'http', '65536', '-1', '-1.5', '3.5', '1e3', '0x10', ' 80', '٣'],
  db: [
    ...['', 'http://127.0.0.1:4001', 'postgres://db', 'rqlite:', 'rqlite://', 'rqlite://host'],
    ...['rqlite://host:4001,', 'rqlite://me:secret@host:4001', 'rqlite://host:4001/db'],
    ...['rqlite://host:4001?level=strong', 'rqlite://a:1?x=y', 'rqlite://host:99999'],
    ...['rqlite://a:1?level=weak&level=weak', 'rqlite://a:1?user=a&user=b'],
    ...['rqlite://host:4001#a', 'rqlite://ho st:4001', 'RQLITE://host:4001'],
  ],
  socket: ['', 'x'.repeat(104)],
  'idle-timeout': ['', '0', '3601', '1.5', '60s'],
  'body-limit': ['0', '268435457', '1MB', '1.5', '-1'],
  processes: ['', '0', '-1', '65', '1.5', 'two', 'AUTO'],
  'log-level': ['', 'loud', 'INFO', 'info,debug'],
  'api-keys-file': [''],
  'rate-limit': ['', '0', '1000001', 'OFF', '1.5', '-1', '600/min'],
  'cors-origin': [
    ...['*', 'null', 'example.org', 'https://example.org/', 'https://EXAMPLE.org'],
    ...['https://example.org:443', 'ftp://example.org', 'https://me@example.org'],
    ...['https://example.org,*', 'file:///tmp', 'file://', 'ws://example.org', 'data:a'],
    ...['https://*.example.org', 'chrome-extension://*', 'chrome-extension:', 'app:obsidian.md'],
    ...['chrome-extension://abc/', 'APP://obsidian.md', 'app://me@obsidian.md', 'app://a/b'],
  ],
  'base-url': WRONG_URLS,
  'problem-base': WRONG_URLS,
};

for (const [flag, texts] of Object.entries(WRONG)) {
  test(`options: wrong values of --${flag}`, () => {
    for (const text of texts) {
      refuses([`--${flag}=${text}`], new RegExp(`^--${flag} `));
      // A value that begins like a flag is none, even after its flag.
      if (text.startsWith('-')) refuses([`--${flag}`, text], '');
      if (text !== '') refuses([], new RegExp(`^${variable(flag)} `), { [variable(flag)]: text });
    }
  });
}

test('options: a refusal says where a wrong value is and what would be right', () => {
  const port = 'PORT takes a whole number from 0 to 65535, not "a"';
  const proxy = 'NOTES_TRUST_PROXY takes one of true, false, 1, 0, not';
  refuses(['--port=-1'], '--port takes a whole number from 0 to 65535, not "-1"');
  refuses([], `NOTES_${port}`, { NOTES_PORT: 'a', PORT: '1' });
  refuses([], new RegExp(`^${port}$`), { NOTES_PORT: '', PORT: 'a' });
  refuses(['backup', 'a'], 'NOTES_DB takes a file, :memory: or rqlite:', { NOTES_DB: 'http://a' });
  for (const [name, operand] of Object.entries({ check: 'DB', backup: 'TARGET', import: 'FILE' }))
    refuses([name, ''], new RegExp(`^${operand} must not be empty$`));
  for (const text of ['yes', 'TRUE', '10', 'on'])
    refuses([], `${proxy} "${text}"`, { NOTES_TRUST_PROXY: text });
  refuses(['--rate-limit=-5'], '--rate-limit takes off or a whole number from 1 to 1000000');
  refuses(['--processes', 'many'], '--processes takes auto or a whole number from 1 to 64');
  refuses(
    ['--host', '[::1]'],
    '--host takes an address without brackets, such as ::1, not "[::1]"',
  );
  refuses(['--host', '/a.sock'], '--host takes an address or a host name (--socket takes the path');
  refuses([], /^NOTES_CORS_ORIGIN takes an origin such as \S+ or app:\S+, not "null"$/, {
    NOTES_CORS_ORIGIN: 'http://a,null',
  });
  for (const [text, sent] of [
    ['https://example.org/', 'https://example.org'],
    ['https://Example.ORG', 'https://example.org'],
    ['https://example.org:443/a?b#c', 'https://example.org'],
    ['http://localhost:5173/', 'http://localhost:5173'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['chrome-extension://abc/index.html', 'chrome-extension://abc'],
    ['App://obsidian.md', 'app://obsidian.md'],
  ] as const) {
    const rule = 'without capitals, default port, path or slash at its end';
    refuses(['--cors-origin', text], `--cors-origin takes "${sent}", ${rule}, not "${text}"`);
  }
});

test('options: a name that is nearly right gets a suggestion', () => {
  for (const [args, name] of [
    [['--prot', '1'], '--port'],
    [['--PORT=1'], '--port'],
    [['-p'], '--port'],
    [['--api-keys', 'x'], '--api-keys-file'],
    [['exprot'], 'export'],
    [['help', 'bakup'], 'backup'],
    [['restore', 'a', '--froce'], '--force'],
    [['chekc', 'x'], 'check'],
    [['--keys-file', 'x'], '--api-keys-file'],
    [['--limit', 'x'], '--rate-limit'],
    [['--thread'], '--max-threads'],
  ] as const) {
    refuses(args, new RegExp(`; did you mean ${name}\\?$`));
  }
  const unlike = '--bogus -- bogus --eys-file nope cook -x --p\u00f6rt-of-call'.split(' ');
  for (const name of [...unlike, 'x'.repeat(100_000)]) {
    refuses([name, 'x'], /^(?!.*did you mean)/s);
  }
});

test('options: unknown variables are found, with a suggestion', () => {
  for (const [name, meant] of Object.entries({
    NOTES_API_KEY: 'NOTES_API_KEYS',
    NOTES_API_KEY_FILE: 'NOTES_API_KEYS_FILE',
    NOTES_APIKEYS: 'NOTES_API_KEYS',
    NOTES_KEYS: 'NOTES_API_KEYS',
    NOTES_KEYS_FILE: 'NOTES_API_KEYS_FILE',
  }))
    assert.deepEqual(unknownVariables({ [name]: 'a' }), [`${name}; did you mean ${meant}?`]);
  const environment = { NOTES_PROT: '1', NOTES_API_KEYS: 'a', NOTES_DB: 'a', NOTES_HELP: '1' };
  assert.deepEqual(unknownVariables({ ...environment, XNOTES_PORT: '1', notes_port: '1' }), [
    'NOTES_PROT; did you mean NOTES_PORT?',
    'NOTES_HELP',
  ]);
});

test('options: what Kubernetes sets for a Service counts as not set', () => {
  const warning = 'Kubernetes sets this for a Service (enableServiceLinks: false prevents it)';
  for (const link of ['tcp://10.0.0.1:3000', 'udp://[fd00::1]:53', 'sctp://10.0.0.1:1']) {
    for (const [flag, key, byDefault] of SAMPLES) {
      const environment = { [variable(flag)]: link };
      assert.deepEqual(options([], environment)[key], byDefault, flag);
      assert.deepEqual(unknownVariables(environment), [`${variable(flag)}: ${warning}`]);
    }
    assert.equal(options([], { NOTES_PORT: link, PORT: '80' }).port, 80);
    refuses(['--port', link], '--port takes');
  }
  const others = {
    NOTES_SERVICE_HOST: '10.0.0.1',
    NOTES_SERVICE_PORT: '3000',
    NOTES_SERVICE_PORT_HTTP: '3000',
    NOTES_PORT_3000_TCP: 'tcp://10.0.0.1:3000',
    NOTES_PORT_3000_TCP_ADDR: '10.0.0.1',
    NOTES_WEB_SERVICE_HOST: '10.0.0.2',
  };
  const names = Object.keys(others).join(', ');
  assert.deepEqual(unknownVariables({ ...others, NOTES_X: 'a' }), [
    'NOTES_X',
    `${names}: ${warning}`,
  ]);
  const wrong = { NOTES_PORT: 'tcp://10.0.0.1', NOTES_API_KEYS: 'tcp://10.0.0.1:1' };
  assert.deepEqual(unknownVariables(wrong), []);
  refuses([], 'NOTES_PORT takes', wrong);
});

test('options: a socket takes the place of host and port, and counts as loopback', () => {
  const { socket, rateLimit } = options([], { NOTES_SOCKET: 'a', HOST: '0.0.0.0', PORT: '1' });
  assert.deepEqual([socket, rateLimit], ['a', undefined]);
  for (const flag of ['--host=127.0.0.1', '--port=1'])
    refuses(['--socket', 'a', flag], '--socket replaces --host and --port');
  // The container image sets them.
  const image = { NOTES_HOST: '0.0.0.0', NOTES_PORT: '3000' };
  assert.equal(options(['--socket', 'a'], image).socket, 'a');
  refuses(['--host', '::1'], '--socket replaces', { NOTES_SOCKET: 'a' });
});

test('options: unknown flags, stray words and missing values', () => {
  refuses(['--bogus'], "'--bogus'");
  refuses(['-p', '1'], "'-p'");
  refuses(['notes.db'], "there is no command 'notes.db'");
  refuses(['--port', '1', 'check'], "'check'");
  refuses(['--', 'x'], "'x'");
  refuses(['--port'], "'--port");
  refuses(['--port', '--db'], "'--port'");
  refuses(['--no-port'], "'--no-port'");
  refuses(['--allow-anonymous=true'], "'--allow-anonymous'");
  refuses(['--Port', '1'], "'--Port'");
});

test('options: NOTES_API_KEYS is a list of visible ASCII', () => {
  const keys = (text: string) => options([], { NOTES_API_KEYS: text }).apiKeys;
  assert.deepEqual(keys('one, two ,,three=+/!~'), ['one', 'two', 'three=+/!~']);
  assert.deepEqual(keys(''), []);
  assert.deepEqual(keys('a"b,"c'), ['a"b', '"c']);
  for (const text of [',', ' ', '"a",b', "a,'b',c", 'a b', 'ä', 'a\u0000b', 'good,b\tad'])
    refuses([], /^NOTES_API_KEYS /, { NOTES_API_KEYS: text });
  refuses(['--api-keys', 'x'], "'--api-keys'");
});

test('options: a variable with quotes around its value is refused, and not quoted', () => {
  const wrong = 'has quotes around its value, which would be part of it: leave them out$';
  const names = [...SAMPLES.map(([flag]) => variable(flag)), 'HOST', 'PORT', 'NOTES_API_KEYS'];
  for (const name of [...names, 'NOTES_DB_PASSWORD'])
    for (const text of ['"s3cret"', "'s3cret'", '"s3cret"\r', '""', '"s3cret","s3cret"'])
      refuses([], new RegExp(`^${name} ${wrong}`), { [name]: text });
  const args = ['export', '--db', 'rqlite://a:1'];
  refuses(args, 'NOTES_DB_PASSWORD has quotes', { NOTES_DB_PASSWORD: '"s3cret"' });
  refuses(['export'], 'NOTES_DB has quotes', { NOTES_DB: "'a.db'" });
});

test('options: the rate limit is off on loopback, else 600', () => {
  const limit = (...args: string[]) => options([...args, '--allow-anonymous']).rateLimit;
  const limits = [limit(), limit('--host=::'), limit('--host=::', '--rate-limit=off')];
  assert.deepEqual(limits, [undefined, 600, undefined]);
});

test('options: several processes share the threads, and need a file', () => {
  assert.equal(options(['--processes', 'auto']).processes, availableParallelism());
  const threads = (processes: string) =>
    options(['--processes', processes, '--max-threads', '64']).maxThreads;
  assert.deepEqual(['1', '2', '3', '4', '5', '64'].map(threads), [64, 32, 21, 16, 16, 16]);
  refuses(['--db', ':memory:', '--processes', '2'], '--processes needs a file');
  assert.equal(options(['--db', ':memory:', '--processes', '1']).db.kind, 'memory');
});

test('options: the address of a cluster', () => {
  const others = { level: 'linearizable', user: undefined };
  for (const [address, cluster] of [
    ['rqlite://127.0.0.1:4001', { nodes: ['http://127.0.0.1:4001'], ...others }],
    ['rqlites://a.b:41,[::1]:43/', { nodes: ['https://a.b:41', 'https://[::1]:43'], ...others }],
    ['rqlite://a:1?level=weak&user=b%20c', { nodes: ['http://a:1'], level: 'weak', user: 'b c' }],
  ] as const)
    assert.deepEqual(parseCluster(address), cluster);
  const name = 'rqlite://a:1?level=weak';
  const { kind, name: kept } = options(['--db', name]).db;
  assert.deepEqual([kind, kept], ['cluster', name]);
  for (const file of ['notes.db', 'rqlite', './rqlite:', ':memory:'])
    assert.notEqual(parseDatabase(file).kind, 'cluster', file);
});

test('options: no message quotes the password of a cluster', async () => {
  const { dbPassword, dbPasswordFile } = options([], { NOTES_DB_PASSWORD: 'secret' });
  assert.deepEqual([dbPassword, dbPasswordFile], ['secret', undefined]);
  const both = options(['--db-password-file', '/nope'], { NOTES_DB_PASSWORD: 'secret' });
  await assert.rejects(passwordOf(both), /^DatabaseUnusable: cannot read the password in \/nope: /);
  const quotesNothing = /^(?!.*secret)/s;
  refuses(['--db-password-file', ''], quotesNothing, { NOTES_DB_PASSWORD: 'secret' });
  for (const scheme of ['rqlite', 'RQLITE', 'http']) {
    const db = `${scheme}://me:secret@host:4001`;
    for (const args of [['--db', db], [db], ['export', '--db', db], ['export', 'a', db]])
      refuses(args, quotesNothing);
  }
});

test('options: a public address needs keys or --allow-anonymous', () => {
  const reachable = '0.0.0.0 :: 192.0.2.1 2001:db8::1 example.org 127.0.0.1.example.org localhost.';
  for (const host of reachable.split(' ')) {
    refuses(['--host', host], '--allow-anonymous');
    assert.equal(options(['--host', host], { NOTES_API_KEYS: 'key' }).host, host);
    assert.equal(options(['--host', host, '--api-keys-file', 'keys']).host, host);
    refuses([], host, { NOTES_HOST: host, NOTES_ALLOW_ANONYMOUS: 'false' });
    assert.equal(options(['--host', host, '--allow-anonymous']).host, host);
    assert.equal(options([], { HOST: host, NOTES_ALLOW_ANONYMOUS: '1' }).host, host);
  }
  for (const host of ['127.0.0.1', '127.255.0.9', '::1', 'localhost'])
    assert.equal(options(['--host', host]).host, host);
});

test('options: --help and --version come before wrong values', () => {
  for (const flag of ['--help', '-h'])
    assert.deepEqual(parseCommand([flag, '--port', 'x'], {}), { kind: 'help' });
  for (const flag of ['--version', '-V'])
    assert.deepEqual(parseCommand([flag], { NOTES_PORT: 'x' }), { kind: 'version' });
});

/** Returns what the command line gives to a sub-command. */
function inputOf(args: readonly string[], environment = {}): Input {
  const command = parseCommand(args, environment);
  return command.kind === 'run' ? command.input : assert.fail(command.kind);
}

test('options: a command takes a database in one of two ways, or that of the service', () => {
  const environment = { NOTES_DB: 'c.db' };
  for (const [line, name] of Object.entries({
    'check a.db --repair': 'a.db',
    'check --repair --db a.db': 'a.db',
    'check --repair': 'c.db',
    ...Object.fromEntries(
      ['backup', 'restore', 'export', 'import'].flatMap((each) => [
        [`${each} file --db a.db`, 'a.db'],
        [`${each} file`, 'c.db'],
      ]),
    ),
  })) {
    const { storage, flags } = inputOf(line.split(' '), environment);
    assert.deepEqual([storage.db.name, flags.repair], [name, /--repair/.test(line) || undefined]);
    if (name === 'c.db') assert.equal(inputOf(line.split(' ')).storage.db.name, 'notes.db');
  }
  assert.equal(inputOf(['check', 'a.db'], { NOTES_DB: 'http://x' }).storage.db.name, 'a.db');
});

const isRow = (line: string, flag: string, meaning: string) =>
  line.startsWith(`  --${flag} `) && line.endsWith(` ${meaning}`);

const FILES_ONLY = 'works with files only; for a cluster use export or import$';

/** The usage of each command, and words it refuses. */
const COMMANDS: Record<string, [usage: string, reason: RegExp, ...words: string[][]]> = {
  check: [
    'check [DB]',
    /check takes one DB at most$|DB or --db, not both$|in memory$|unknown option '(?:-x|--port)'$/,
    ...[[':memory:'], ['-x', 'a.db'], ['a.db', 'b.db'], ['a.db', '--port', '1']],
    ['a.db', '--db', 'b.db'],
  ],
  backup: [
    'backup TARGET',
    new RegExp(`backup takes one TARGET$|backup ${FILES_ONLY}|'--(?:port|force)'`),
    ...[[], ['a', 'b'], ['a', '--port', '0'], ['a', '--force'], ['a', '--db', ':memory:']],
    ['a', '--db', 'rqlite://127.0.0.1:1'],
    ['rqlite://127.0.0.1:1'],
  ],
  restore: [
    'restore BACKUP',
    new RegExp(`restore takes one BACKUP$|restore ${FILES_ONLY}|'--from'`),
    ...[[], ['a', 'b'], ['a', '--from', 'b'], ['a', '--db', ':memory:']],
    ['a', '--db', 'rqlite://127.0.0.1:1'],
  ],
  export: [
    'export [FILE]',
    /export (?:takes one FILE at most|does not work with a database in memory)$|'--port'|empty$/,
    ...[['a', 'b'], ['--db', ':memory:'], [''], ['a', '--port', '0']],
  ],
  import: [
    'import [FILE]',
    /import (?:takes one FILE at most|does not work with a database in memory)$|'--port'|empty$/,
    ...[['a', 'b'], ['--db', ':memory:'], [''], ['a', '--port', '0']],
  ],
  key: ['key [--name NAME]', /key takes only options$|'--db'$/, ...[['a'], [''], ['--db', 'a']]],
};

for (const [kind, [usage, reason, ...wrong]] of Object.entries(COMMANDS)) {
  test(`options: the words of ${kind}`, () => {
    for (const line of [`${kind} --help`, `${kind} -h`, `help ${kind}`])
      assert.deepEqual(parseCommand(line.split(' '), {}), { kind: 'help', name: kind });
    refuses([kind, 'a', '--version'], "'--version'");
    const help = helpText(kind);
    assert.ok(help.startsWith(`Usage: notes-server ${usage}`), help);
    for (const { flag, help: meaning, default: byDefault } of findCommand(kind).flags) {
      const right = byDefault ? `${meaning} (default: ${byDefault})` : meaning;
      assert.ok(help.split('\n').some((line) => isRow(line, flag, right)));
    }
    assert.ok(helpText().includes(`\n  ${kind} `));
    const [, example = ''] = /\nExample:\n {2}notes-server (.*)\n$/.exec(help) ?? [];
    assert.equal(example.split(' ')[0], kind);
    inputOf(example.split(' '));
    for (const words of wrong) refuses([kind, ...words], reason);
    for (const args of [['--port', '1', kind], [`${kind}s`], [kind.toUpperCase()]])
      refuses(args, `'${args.at(-1)}'`);
  });
}

test('options: nothing but usage errors is thrown', () => {
  const word = fc.oneof(
    fc.constantFrom(...FLAGS.map((flag) => `--${flag}`), '--help', '--', 'check'),
    fc.string(),
  );
  const environment = fc.dictionary(fc.constantFrom(...FLAGS.map(variable), 'HOST'), fc.string());
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), environment, (args, variables) => {
      try {
        parseCommand(args, variables);
      } catch (error) {
        assert.ok(error instanceof UsageError, String(error));
      }
    }),
    { numRuns: 500 },
  );
});
