// The command line and the environment, without a process: every option in every way, and every
// wrong value.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import fc from 'fast-check';
import { helpText, parseCommand } from '../../../src/cli/command-line.ts';
import { UsageError } from '../../../src/cli/option-values.ts';
import { isLoopback, type Options } from '../../../src/cli/options.ts';
import type { StorageOptions } from '../../../src/storage/open.ts';
import { parseCluster } from '../../../src/storage/rqlite/address.ts';

/** An option, with two texts and the values they set. The flag alone sets a switch. */
interface Sample {
  readonly flag: string;
  readonly key: keyof Options;
  readonly byDefault: Options[keyof Options];
  readonly first: readonly [text: string, value: Options[keyof Options]];
  readonly second: readonly [text: string, value: Options[keyof Options]];
  readonly isSwitch?: true;
}

const SAMPLES: readonly Sample[] = [
  {
    flag: 'host',
    key: 'host',
    byDefault: '127.0.0.1',
    first: ['127.0.0.2', '127.0.0.2'],
    second: ['::1', '::1'],
  },
  { flag: 'port', key: 'port', byDefault: 3000, first: ['0', 0], second: ['65535', 65_535] },
  {
    flag: 'db',
    key: 'db',
    byDefault: { kind: 'file', name: 'notes.db' },
    first: [':memory:', { kind: 'memory', name: ':memory:' }],
    second: ['a b.db', { kind: 'file', name: 'a b.db' }],
  },
  {
    flag: 'db-password-file',
    key: 'dbPasswordFile',
    byDefault: undefined,
    first: ['a', 'a'],
    second: ['b', 'b'],
  },
  {
    flag: 'base-url',
    key: 'baseUrl',
    byDefault: undefined,
    first: ['http://example.org', 'http://example.org'],
    second: ['https://example.org:8443/api//', 'https://example.org:8443/api'],
  },
  {
    flag: 'problem-base',
    key: 'problemBase',
    byDefault: undefined,
    first: ['http://example.org/problems/', 'http://example.org/problems'],
    second: ['HTTPS://EXAMPLE.ORG/p', 'https://example.org/p'],
  },
  {
    flag: 'body-limit',
    key: 'bodyLimitBytes',
    byDefault: 1_048_576,
    first: ['1', 1],
    second: ['268435456', 268_435_456],
  },
  {
    flag: 'api-keys-file',
    key: 'apiKeysFile',
    byDefault: undefined,
    first: ['keys', 'keys'],
    second: ['/etc/a b', '/etc/a b'],
  },
  {
    flag: 'allow-anonymous',
    key: 'allowAnonymous',
    byDefault: false,
    first: ['true', true],
    second: ['0', false],
    isSwitch: true,
  },
  {
    flag: 'rate-limit',
    key: 'rateLimit',
    byDefault: undefined,
    first: ['1', 1],
    second: ['1000000', 1_000_000],
  },
  {
    flag: 'trust-proxy',
    key: 'trustProxy',
    byDefault: false,
    first: ['1', true],
    second: ['false', false],
    isSwitch: true,
  },
  {
    flag: 'cors-origin',
    key: 'corsOrigins',
    byDefault: [],
    first: ['https://a.example', ['https://a.example']],
    second: [
      'http://b.example:8080,https://xn--bcher-kva.example',
      ['http://b.example:8080', 'https://xn--bcher-kva.example'],
    ],
  },
  { flag: 'processes', key: 'processes', byDefault: 1, first: ['2', 2], second: ['64', 64] },
  {
    flag: 'max-threads',
    key: 'maxThreads',
    byDefault: 64,
    first: ['16', 16],
    second: ['1024', 1_024],
  },
  {
    flag: 'no-metrics',
    key: 'noMetrics',
    byDefault: false,
    first: ['true', true],
    second: ['0', false],
    isSwitch: true,
  },
  {
    flag: 'log-level',
    key: 'logLevel',
    byDefault: 'info',
    first: ['silent', 'silent'],
    second: ['debug', 'debug'],
  },
  {
    flag: 'log-format',
    key: 'logFormat',
    byDefault: 'auto',
    first: ['json', 'json'],
    second: ['pretty', 'pretty'],
  },
];

const variable = (flag: string) => `NOTES_${flag.toUpperCase().replaceAll('-', '_')}`;

function options(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Options {
  const command = parseCommand(args, environment);
  assert.equal(command.kind, 'serve');
  return command.kind === 'serve' ? command.options : assert.fail();
}

test('options: --help lists each with its default', () => {
  const lines = helpText().matchAll(/^ {2}--([a-z-]+)(?: [A-Z]+)? .*$/gm);
  const listed = new Map([...lines].map(([line, flag = '']) => [flag, line]));
  assert.deepEqual([...listed.keys()], [...SAMPLES.map(({ flag }) => flag), 'help', 'version']);
  for (const { flag, byDefault, isSwitch } of SAMPLES) {
    if (!byDefault || isSwitch || Array.isArray(byDefault)) continue;
    const text = typeof byDefault === 'object' && 'name' in byDefault ? byDefault.name : byDefault;
    assert.ok(listed.get(flag)?.endsWith(`(default: ${text})`), flag);
  }
});

test('options: the defaults', () => {
  const defaults = Object.fromEntries(SAMPLES.map(({ key, byDefault }) => [key, byDefault]));
  assert.deepEqual(options([]), { ...defaults, apiKeys: [], dbPassword: undefined });
});

for (const { flag, key, first, second, isSwitch } of SAMPLES) {
  const given = ([text]: Sample['first']) => (isSwitch ? [`--${flag}`] : [`--${flag}`, text]);

  test(`options: --${flag} sets ${key}`, () => {
    assert.deepEqual(options(given(first))[key], first[1]);
    if (isSwitch) return;
    assert.deepEqual(options(given(second))[key], second[1]);
    assert.deepEqual(options([`--${flag}=${second[0]}`])[key], second[1]);
  });

  test(`options: ${variable(flag)} sets ${key} without --${flag}`, () => {
    for (const [text, value] of [first, second])
      assert.deepEqual(options([], { [variable(flag)]: text })[key], value);
    assert.deepEqual(options(given(first), { [variable(flag)]: second[0] })[key], first[1]);
    // An empty variable counts as not set.
    assert.deepEqual(options([], { [variable(flag)]: '' }), options([]));
  });
}

test('options: PORT and HOST where ours are not set or empty', () => {
  const common = { PORT: '8080', HOST: '127.0.0.2' };
  const set = (environment: Record<string, string>, ...args: string[]) => {
    const { host, port } = options(args, environment);
    return [host, port];
  };
  assert.deepEqual(set(common), ['127.0.0.2', 8080]);
  assert.deepEqual(set({ ...common, NOTES_PORT: '', NOTES_HOST: '' }), ['127.0.0.2', 8080]);
  assert.deepEqual(set({ ...common, NOTES_PORT: '9090' }), ['127.0.0.2', 9090]);
  assert.deepEqual(set({ ...common, NOTES_HOST: '127.0.0.3' }), ['127.0.0.3', 8080]);
  assert.deepEqual(set(common, '--port', '1', '--host', '::1'), ['::1', 1]);
  assert.deepEqual(set({ PORT: '', HOST: '' }), ['127.0.0.1', 3000]);
});

test('options: no other variable sets anything', () => {
  const others = Object.fromEntries(
    SAMPLES.map(({ flag }) => [flag.toUpperCase().replaceAll('-', '_'), 'nonsense']),
  );
  const { HOST: _host, PORT: _port, ...rest } = others;
  const lowerCase = Object.fromEntries(SAMPLES.map(({ flag }) => [`notes_${flag}`, 'nonsense']));
  assert.deepEqual(
    options([], { ...rest, ...lowerCase, NOTES_HELP: '1', NOTES_VERSION: '1' }),
    options([]),
  );
});

const WRONG: readonly (readonly [flag: string, ...texts: string[]])[] = [
  ['host', ''],
  ['port', '', 'http', '65536', '-1', '3.5', '1e3', '0x10', ' 80', '٣'],
  [
    'db',
    '',
    'http://127.0.0.1:4001',
    'postgres://db',
    'rqlite:',
    'rqlite://',
    'rqlite://host',
    'rqlite://host:4001,',
  ],
  [
    'db',
    'rqlite://me:secret@host:4001',
    'rqlite://host:4001/db',
    'rqlite://host:4001?level=strong',
    'rqlite://a:1?x=y',
  ],
  [
    'db',
    'rqlite://host:99999',
    'rqlite://host:4001#a',
    'rqlite://ho st:4001',
    'RQLITE://host:4001',
  ],
  ['body-limit', '0', '268435457', '1MB', '1.5', '-1'],
  ['processes', '', '0', '-1', '65', '1.5', 'two', 'AUTO'],
  ['log-level', '', 'loud', 'INFO', 'info,debug'],
  ['api-keys-file', ''],
  ['rate-limit', '', '0', '1000001', 'OFF', '1.5', '-1', '600/min'],
  [
    'cors-origin',
    '*',
    'null',
    'example.org',
    'https://example.org/',
    'https://EXAMPLE.org',
    'https://example.org:443',
  ],
  [
    'cors-origin',
    'ftp://example.org',
    'https://me@example.org',
    'https://example.org,*',
    'file:///tmp',
  ],
  ...['base-url', 'problem-base'].map((flag): [string, ...string[]] => [
    flag,
    ...[
      '',
      'example.org',
      '/api',
      'ftp://example.org',
      'http://',
      'http://example.org/?a=b',
      'http://example.org/#a',
    ],
    ...[
      'http://example.org?',
      'http://example.org/#',
      'http://me@example.org',
      'http://:pw@example.org',
    ],
    ...[
      'http://example.org//evil.example',
      'http://example.org/\\\\evil.example',
      'http://example.org/a/..//evil.example',
    ],
  ]),
];

for (const flag of new Set(WRONG.map(([flag]) => flag))) {
  test(`options: wrong values of --${flag}`, () => {
    const namesFlag = (error: unknown) =>
      error instanceof UsageError && error.message.includes(`--${flag} `);
    for (const text of WRONG.flatMap(([name, ...texts]) => (name === flag ? texts : []))) {
      assert.throws(() => parseCommand([`--${flag}=${text}`], {}), namesFlag, text);
      if (text !== '')
        assert.throws(() => parseCommand([], { [variable(flag)]: text }), namesFlag, text);
    }
  });
}

test('options: the message quotes the wrong value', () => {
  const message = /^UsageError: --port takes a whole number from 0 to 65535, not "http"$/;
  assert.throws(() => parseCommand(['--port', 'http'], {}), message);
});

test('options: a switch is true, false, 1 or 0 in the environment', () => {
  const set = (text: string) => options([], { NOTES_ALLOW_ANONYMOUS: text }).allowAnonymous;
  assert.deepEqual(['true', '1', 'false', '0'].map(set), [true, true, false, false]);
  for (const text of ['yes', 'TRUE', '10', 'on']) assert.throws(() => set(text), UsageError, text);
});

test('options: unknown flags, stray words and missing values', () => {
  for (const [args, word] of [
    [['--bogus'], "'--bogus'"],
    [['-p', '1'], "'-p'"],
    [['notes.db'], "'notes.db'"],
    [['--', 'x'], "'x'"],
    [['--port'], "'--port"],
    [['--port', '--db'], "'--port'"],
    [['--port', '-1'], "'--port'"],
    [['--no-port'], "'--no-port'"],
    [['--allow-anonymous=true'], "'--allow-anonymous'"],
    [['--Port', '1'], "'--Port'"],
  ] as const) {
    const namesWord = (error: unknown) =>
      error instanceof UsageError && error.message.includes(word);
    assert.throws(() => parseCommand(args, {}), namesWord, args.join(' '));
  }
});

test('options: several --cors-origin replace the environment', () => {
  const args = ['--cors-origin', 'https://a.example', '--cors-origin=https://b.example'];
  const { corsOrigins } = options(args, { NOTES_CORS_ORIGIN: 'https://c.example' });
  assert.deepEqual(corsOrigins, ['https://a.example', 'https://b.example']);
});

test('options: NOTES_API_KEYS is a list of visible ASCII', () => {
  const keys = (text: string) => options([], { NOTES_API_KEYS: text }).apiKeys;
  assert.deepEqual(keys('one, two ,,three=+/!~'), ['one', 'two', 'three=+/!~']);
  assert.deepEqual(keys(''), []);
  for (const text of [',', ' ', 'a b', 'ä', 'a\u0000b', 'good,b\tad'])
    assert.throws(() => keys(text), /^UsageError: NOTES_API_KEYS /, text);
  assert.throws(() => options(['--api-keys', 'x']), UsageError);
});

test('options: the rate limit is off on loopback, else 600', () => {
  const limit = (...args: string[]) => options([...args, '--allow-anonymous']).rateLimit;
  assert.equal(limit(), undefined);
  assert.equal(limit('--host', '::'), 600);
  assert.equal(limit('--host', '::', '--rate-limit', 'off'), undefined);
  assert.equal(limit('--rate-limit', '7'), 7);
});

test('options: --processes auto, and its shares of the threads', () => {
  assert.equal(options(['--processes', 'auto']).processes, availableParallelism());
  const threads = (processes: string) =>
    options(['--processes', processes, '--max-threads', '64']).maxThreads;
  assert.deepEqual(['1', '2', '3', '4', '5', '64'].map(threads), [64, 32, 21, 16, 16, 16]);
});

test('options: the address of a cluster', () => {
  const others = { level: 'linearizable', user: undefined };
  assert.deepEqual(parseCluster('rqlite://127.0.0.1:4001'), {
    nodes: ['http://127.0.0.1:4001'],
    ...others,
  });
  assert.deepEqual(parseCluster('rqlites://a.example:4001,[::1]:4003/'), {
    nodes: ['https://a.example:4001', 'https://[::1]:4003'],
    ...others,
  });
  assert.deepEqual(parseCluster('rqlite://a:1?level=weak&user=b%20c'), {
    nodes: ['http://a:1'],
    level: 'weak',
    user: 'b c',
  });
  const name = 'rqlite://a:1?level=weak';
  const location = { kind: 'cluster', name, nodes: ['http://a:1'], level: 'weak', user: undefined };
  assert.deepEqual(options(['--db', name]).db, location);
  for (const file of ['notes.db', 'rqlite', './rqlite:', ':memory:'])
    assert.equal(parseCluster(file), undefined, file);
});

test('options: no message quotes the password of a cluster', () => {
  const { dbPassword, dbPasswordFile } = options([], { NOTES_DB_PASSWORD: 'secret' });
  assert.deepEqual([dbPassword, dbPasswordFile], ['secret', undefined]);
  assert.equal(options(['--db-password-file', 'file']).dbPasswordFile, 'file');
  for (const [file, password] of [
    ['', ''],
    ['file', 'secret'],
  ] as const) {
    assert.throws(
      () => options(['--db-password-file', file], { NOTES_DB_PASSWORD: password }),
      (error: Error) => error instanceof UsageError && !error.message.includes('secret'),
    );
  }
  for (const db of [
    'rqlite://me:secret@host:4001',
    'RQLITE://me:secret@host:4001',
    'http://me:secret@host:4001',
  ]) {
    for (const args of [
      ['--db', db],
      [db],
      ['copy', '--from', 'a', db],
      ['copy', '--from', 'a', '--to', db],
    ]) {
      assert.throws(
        () => parseCommand(args, {}),
        (error: Error) => error instanceof UsageError && !error.message.includes('secret'),
      );
    }
  }
});

test('options: several processes need a file', () => {
  assert.throws(
    () => options(['--processes', '2', '--db', ':memory:']),
    /^UsageError: --processes needs a file/,
  );
  assert.equal(options(['--processes', '1', '--db', ':memory:']).db.kind, 'memory');
});

test('options: a public address needs keys or --allow-anonymous', () => {
  const reachable = [
    '0.0.0.0',
    '::',
    '192.0.2.1',
    '2001:db8::1',
    'example.org',
    '127.0.0.1.example.org',
    'localhost.',
  ];
  for (const host of reachable) {
    assert.equal(isLoopback(host), false, host);
    assert.throws(() => parseCommand(['--host', host], {}), /--allow-anonymous/, host);
    assert.equal(options(['--host', host], { NOTES_API_KEYS: 'key' }).host, host);
    assert.equal(options(['--host', host, '--api-keys-file', 'keys']).host, host);
    assert.throws(
      () => parseCommand([], { NOTES_HOST: host, NOTES_ALLOW_ANONYMOUS: 'false' }),
      UsageError,
      host,
    );
    assert.equal(options(['--host', host, '--allow-anonymous']).host, host);
    assert.equal(options([], { HOST: host, NOTES_ALLOW_ANONYMOUS: '1' }).host, host);
  }
  for (const host of ['127.0.0.1', '127.255.0.9', '::1', 'localhost'])
    assert.equal(options(['--host', host]).host, host);
});

test('options: --help and --version come before wrong values', () => {
  for (const flag of ['--help', '-h'])
    assert.deepEqual(parseCommand([flag, '--port', 'x'], {}), { kind: 'help' });
  assert.deepEqual(parseCommand(['--version'], { NOTES_PORT: 'x' }), { kind: 'version' });
});

test('options: check takes one file and no environment', () => {
  assert.deepEqual(parseCommand(['check', 'a b.db'], { NOTES_PORT: 'x' }), {
    kind: 'check',
    file: 'a b.db',
  });
});

for (const kind of ['backup', 'restore', 'export', 'import']) {
  test(`options: ${kind} takes a database, or that of the service`, () => {
    const dbOf = (args: string[], env = {}) => {
      const { db } = parseCommand([kind, 'file', ...args], env) as { db: string | StorageOptions };
      return typeof db === 'string' ? db : db.db.name;
    };
    assert.equal(dbOf(['--db', 'a.db'], { NOTES_DB: 'b.db' }), 'a.db');
    assert.equal(dbOf([], { NOTES_DB: 'b.db' }), 'b.db');
    assert.equal(dbOf([]), 'notes.db');
  });
}

/** The usage of each command, and words it refuses. */
const COMMANDS: Record<string, [usage: string, reason: RegExp, ...words: string[][]]> = {
  check: [
    'check FILE',
    /check takes one FILE and nothing else$/,
    ...[[], [''], ['--db'], ['-x', 'a.db'], ['a.db', 'b.db'], ['a.db', '--port', '1']],
  ],
  backup: [
    'backup TARGET',
    /backup takes one TARGET$|backup works with files only; for a cluster use copy, export or import$|'--(?:port|force)'/,
    ...[[], ['a', 'b'], ['a', '--port', '0'], ['a', '--force'], ['a', '--db', ':memory:']],
    ['a', '--db', 'rqlite://127.0.0.1:1'],
    ['rqlite://127.0.0.1:1'],
  ],
  restore: [
    'restore BACKUP',
    /restore takes one BACKUP$|restore works with files only; for a cluster use copy, export or import$|'--from'/,
    ...[[], ['a', 'b'], ['a', '--from', 'b'], ['a', '--db', ':memory:']],
    ['a', '--db', 'rqlite://127.0.0.1:1'],
  ],
  export: [
    'export [FILE]',
    /export takes one FILE at most$|export does not work with a database in memory$|'--port'/,
    ...[['a', 'b'], ['--db', ':memory:'], [''], ['a', '--port', '0']],
  ],
  import: [
    'import [FILE]',
    /import takes one FILE at most$|import does not work with a database in memory$|'--port'/,
    ...[['a', 'b'], ['--db', ':memory:'], [''], ['a', '--port', '0']],
  ],
  copy: [
    'copy --from DB --to DB',
    /copy takes --from DB and --to DB$|copy takes two different databases, neither of them in memory$|'(?:a|--db)'|--db takes a file/,
    ...[[], ['--from', 'a'], ['--to', 'a'], ['a', 'b'], ['--from', 'a', '--to', 'b', '--db', 'c']],
    ['--from', 'a', '--to', 'a'],
    ['--from', 'a', '--to', ':memory:'],
    ['--from', ':memory:', '--to', 'a'],
    ['--from', 'a', '--to', 'http://b'],
  ],
};

for (const [kind, [usage, reason, ...wrong]] of Object.entries(COMMANDS)) {
  test(`options: the words of ${kind}`, () => {
    for (const flag of ['--help', '-h'])
      assert.deepEqual(parseCommand([kind, flag], {}), { kind: 'help' });
    assert.ok(helpText().includes(`notes-server ${usage}`));
    for (const words of wrong) {
      const isReason = (error: unknown) =>
        error instanceof UsageError && reason.test(error.message);
      assert.throws(() => parseCommand([kind, ...words], {}), isReason, words.join(' '));
    }
    for (const args of [['--port', '1', kind], [`${kind}s`], [kind.toUpperCase()]]) {
      assert.throws(() => parseCommand(args, {}), UsageError, args.join(' '));
    }
  });
}

test('options: nothing but usage errors is thrown', () => {
  const word = fc.oneof(
    fc.constantFrom(...SAMPLES.map(({ flag }) => `--${flag}`), '--help', '--', 'check'),
    fc.string(),
  );
  const environment = fc.dictionary(
    fc.constantFrom(...SAMPLES.map(({ flag }) => variable(flag)), 'HOST'),
    fc.string(),
  );
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
