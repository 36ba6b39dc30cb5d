// The command line and the environment, without a process: every option by each of its ways, and every wrong value.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import fc from 'fast-check';
import { helpText, parseCommand } from '../../../src/command-line.ts';
import { UsageError } from '../../../src/option-values.ts';
import { isLoopback, type Options } from '../../../src/options.ts';
import { parseCluster } from '../../../src/storage/rqlite-address.ts';

/** An option: two texts that set it and what comes of them; a switch is set by its flag alone. */
interface Sample {
  readonly flag: string;
  readonly key: keyof Options;
  readonly byDefault: Options[keyof Options];
  readonly first: readonly [text: string, value: Options[keyof Options]];
  readonly second: readonly [text: string, value: Options[keyof Options]];
  readonly isSwitch?: true;
}

const SAMPLES: readonly Sample[] = [
  { flag: 'host', key: 'host', byDefault: '127.0.0.1', first: ['127.0.0.2', '127.0.0.2'], second: ['::1', '::1'] },
  { flag: 'port', key: 'port', byDefault: 3000, first: ['0', 0], second: ['65535', 65_535] },
  { flag: 'db', key: 'db', byDefault: 'notes.db', first: [':memory:', ':memory:'], second: ['a b.db', 'a b.db'] },
  { flag: 'db-password-file', key: 'dbPasswordFile', byDefault: undefined, first: ['a', 'a'], second: ['b', 'b'] },
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
  { flag: 'rate-limit', key: 'rateLimit', byDefault: undefined, first: ['1', 1], second: ['1000000', 1_000_000] },
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
  { flag: 'max-threads', key: 'maxThreads', byDefault: 64, first: ['16', 16], second: ['1024', 1_024] },
  {
    flag: 'no-metrics',
    key: 'metrics',
    byDefault: true,
    first: ['true', false],
    second: ['0', true],
    isSwitch: true,
  },
  { flag: 'log-level', key: 'logLevel', byDefault: 'info', first: ['silent', 'silent'], second: ['debug', 'debug'] },
  { flag: 'log-format', key: 'logFormat', byDefault: 'auto', first: ['json', 'json'], second: ['pretty', 'pretty'] },
];

const variable = (flag: string) => `NOTES_${flag.toUpperCase().replaceAll('-', '_')}`;

function options(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Options {
  const command = parseCommand(args, environment);
  assert.equal(command.kind, 'serve');
  return command.kind === 'serve' ? command.options : assert.fail();
}

test('these tests know every option of --help, and --help tells the default of each', () => {
  const lines = helpText().matchAll(/^ {2}--([a-z-]+)(?: [A-Z]+)? .*$/gm);
  const told = new Map([...lines].map(([line, flag = '']) => [flag, line]));
  assert.deepEqual([...told.keys()], [...SAMPLES.map(({ flag }) => flag), 'help', 'version']);
  for (const { flag, byDefault, isSwitch } of SAMPLES) {
    if (byDefault && !isSwitch && !Array.isArray(byDefault))
      assert.ok(told.get(flag)?.endsWith(`(default: ${byDefault})`), flag);
  }
});

test('without arguments and environment every option has its default', () => {
  const defaults = Object.fromEntries(SAMPLES.map(({ key, byDefault }) => [key, byDefault]));
  assert.deepEqual(options([]), { ...defaults, apiKeys: [], dbPassword: undefined });
});

for (const { flag, key, first, second, isSwitch } of SAMPLES) {
  const given = ([text]: Sample['first']) => (isSwitch ? [`--${flag}`] : [`--${flag}`, text]);

  test(`--${flag} sets ${key}`, () => {
    assert.deepEqual(options(given(first))[key], first[1]);
    if (isSwitch) return;
    assert.deepEqual(options(given(second))[key], second[1]);
    assert.deepEqual(options([`--${flag}=${second[0]}`])[key], second[1]);
  });

  test(`${variable(flag)} sets ${key} where --${flag} is not given`, () => {
    for (const [text, value] of [first, second]) assert.deepEqual(options([], { [variable(flag)]: text })[key], value);
    assert.deepEqual(options(given(first), { [variable(flag)]: second[0] })[key], first[1]);
  });

  test(`an empty ${variable(flag)} is one that is not set`, () => {
    assert.deepEqual(options([], { [variable(flag)]: '' }), options([]));
  });
}

test('PORT and HOST count where NOTES_PORT and NOTES_HOST are not set, or empty', () => {
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

test('no other variable sets anything', () => {
  const others = Object.fromEntries(SAMPLES.map(({ flag }) => [flag.toUpperCase().replaceAll('-', '_'), 'nonsense']));
  const { HOST: _host, PORT: _port, ...rest } = others;
  const lowerCase = Object.fromEntries(SAMPLES.map(({ flag }) => [`notes_${flag}`, 'nonsense']));
  assert.deepEqual(options([], { ...rest, ...lowerCase, NOTES_HELP: '1', NOTES_VERSION: '1' }), options([]));
});

const WRONG: readonly (readonly [flag: string, ...texts: string[]])[] = [
  ['host', ''],
  ['port', '', 'http', '65536', '-1', '3.5', '1e3', '0x10', ' 80', '٣'],
  ['db', '', 'http://127.0.0.1:4001', 'postgres://db', 'rqlite:', 'rqlite://', 'rqlite://host', 'rqlite://host:4001,'],
  [
    'db',
    'rqlite://me:secret@host:4001',
    'rqlite://host:4001/db',
    'rqlite://host:4001?level=strong',
    'rqlite://a:1?x=y',
  ],
  ['db', 'rqlite://host:99999', 'rqlite://host:4001#a', 'rqlite://ho st:4001', 'RQLITE://host:4001'],
  ['body-limit', '0', '268435457', '1MB', '1.5', '-1'],
  ['processes', '', '0', '-1', '65', '1.5', 'two', 'AUTO'],
  ['log-level', '', 'loud', 'INFO', 'info,debug'],
  ['api-keys-file', ''],
  ['rate-limit', '', '0', '1000001', 'OFF', '1.5', '-1', '600/min'],
  ['cors-origin', '*', 'null', 'example.org', 'https://example.org/', 'https://EXAMPLE.org', 'https://example.org:443'],
  ['cors-origin', 'ftp://example.org', 'https://me@example.org', 'https://example.org,*', 'file:///tmp'],
  ...['base-url', 'problem-base'].map((flag): [string, ...string[]] => [
    flag,
    ...['', 'example.org', '/api', 'ftp://example.org', 'http://', 'http://example.org/?a=b', 'http://example.org/#a'],
    ...['http://example.org?', 'http://example.org/#', 'http://me@example.org', 'http://:pw@example.org'],
    ...[
      'http://example.org//evil.example',
      'http://example.org/\\\\evil.example',
      'http://example.org/a/..//evil.example',
    ],
  ]),
];

for (const [flag, ...texts] of WRONG) {
  for (const text of texts) {
    test(`${JSON.stringify(text)} is refused as --${flag}`, () => {
      const names = (error: unknown) => error instanceof UsageError && error.message.includes(`--${flag} `);
      assert.throws(() => parseCommand([`--${flag}=${text}`], {}), names);
      // An empty variable is one that is not set.
      if (text !== '') assert.throws(() => parseCommand([], { [variable(flag)]: text }), names);
    });
  }
}

test('a switch takes true, false, 1 and 0 from the environment, and nothing else', () => {
  const set = (text: string) => options([], { NOTES_ALLOW_ANONYMOUS: text }).allowAnonymous;
  assert.deepEqual(['true', '1', 'false', '0'].map(set), [true, true, false, false]);
  for (const text of ['yes', 'TRUE', '10', 'on']) assert.throws(() => set(text), UsageError, text);
});

test('flags that do not exist, arguments without a flag and flags without their value are refused', () => {
  const lines = [['--bogus'], ['-p', '1'], ['notes.db'], ['--', 'x'], ['--port'], ['--port', '--db'], ['--no-port']];
  for (const args of [...lines, ['--allow-anonymous=true'], ['--Port', '1']]) {
    assert.throws(() => parseCommand(args, {}), UsageError, args.join(' '));
  }
});

test('an origin may be allowed by several flags, and those of the environment do not count then', () => {
  const args = ['--cors-origin', 'https://a.example', '--cors-origin=https://b.example'];
  const { corsOrigins } = options(args, { NOTES_CORS_ORIGIN: 'https://c.example' });
  assert.deepEqual(corsOrigins, ['https://a.example', 'https://b.example']);
});

test('NOTES_API_KEYS holds keys of visible ASCII, and at least one if it is set', () => {
  const keys = (text: string) => options([], { NOTES_API_KEYS: text }).apiKeys;
  assert.deepEqual(keys('one, two ,,three=+/!~'), ['one', 'two', 'three=+/!~']);
  assert.deepEqual(keys(''), []);
  for (const text of [',', ' ', 'a b', 'ä', 'a\u0000b', 'good,b\tad'])
    assert.throws(() => keys(text), /^UsageError: NOTES_API_KEYS /, text);
  assert.throws(() => options(['--api-keys', 'x']), UsageError);
});

test('the rate limit is off on loopback and 600 elsewhere, unless it is set', () => {
  const limit = (...args: string[]) => options([...args, '--allow-anonymous']).rateLimit;
  assert.equal(limit(), undefined);
  assert.equal(limit('--host', '::'), 600);
  assert.equal(limit('--host', '::', '--rate-limit', 'off'), undefined);
  assert.equal(limit('--rate-limit', '7'), 7);
});

test('auto is a process for each core, and each has its share of the threads, sixteen at least', () => {
  assert.equal(options(['--processes', 'auto']).processes, availableParallelism());
  const threads = (processes: string) => options(['--processes', processes, '--max-threads', '64']).maxThreads;
  assert.deepEqual(['1', '2', '3', '4', '5', '64'].map(threads), [64, 32, 21, 16, 16, 16]);
});

test('a cluster is named by its nodes, over TLS if that is asked for, its user and how fresh reads are', () => {
  const others = { level: 'linearizable', user: undefined };
  assert.deepEqual(parseCluster('rqlite://127.0.0.1:4001'), { nodes: ['http://127.0.0.1:4001'], ...others });
  assert.deepEqual(parseCluster('rqlites://a.example:4001,[::1]:4003/'), {
    nodes: ['https://a.example:4001', 'https://[::1]:4003'],
    ...others,
  });
  assert.deepEqual(parseCluster('rqlite://a:1?level=weak&user=b%20c'), {
    nodes: ['http://a:1'],
    level: 'weak',
    user: 'b c',
  });
  for (const file of ['notes.db', 'rqlite', './rqlite:', ':memory:']) assert.equal(parseCluster(file), undefined, file);
});

test('the password of a cluster comes from the environment or a file, and a misplaced one is not told', () => {
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
  for (const db of ['rqlite://me:secret@host:4001', 'RQLITE://me:secret@host:4001', 'http://me:secret@host:4001']) {
    for (const args of [['--db', db], [db], ['copy', '--from', 'a', db], ['copy', '--from', 'a', '--to', db]]) {
      assert.throws(
        () => parseCommand(args, {}),
        (error: Error) => error instanceof UsageError && !error.message.includes('secret'),
      );
    }
  }
});

test('several processes need a file, for what one has in memory no other sees', () => {
  assert.throws(() => options(['--processes', '2', '--db', ':memory:']), /^UsageError: --processes needs a file/);
  assert.equal(options(['--processes', '1', '--db', ':memory:']).db, ':memory:');
});

test('an address that others can reach needs keys or --allow-anonymous', () => {
  const reachable = ['0.0.0.0', '::', '192.0.2.1', '2001:db8::1', 'example.org', '127.0.0.1.example.org', 'localhost.'];
  for (const host of reachable) {
    assert.equal(isLoopback(host), false, host);
    assert.throws(() => parseCommand(['--host', host], {}), /--allow-anonymous/, host);
    assert.equal(options(['--host', host], { NOTES_API_KEYS: 'key' }).host, host);
    assert.equal(options(['--host', host, '--api-keys-file', 'keys']).host, host);
    assert.throws(() => parseCommand([], { NOTES_HOST: host, NOTES_ALLOW_ANONYMOUS: 'false' }), UsageError, host);
    assert.equal(options(['--host', host, '--allow-anonymous']).host, host);
    assert.equal(options([], { HOST: host, NOTES_ALLOW_ANONYMOUS: '1' }).host, host);
  }
  for (const host of ['127.0.0.1', '127.255.0.9', '::1', 'localhost'])
    assert.equal(options(['--host', host]).host, host);
});

test('--help and --version are answered whatever else is set', () => {
  for (const flag of ['--help', '-h']) assert.deepEqual(parseCommand([flag, '--port', 'x'], {}), { kind: 'help' });
  assert.deepEqual(parseCommand(['--version'], { NOTES_PORT: 'x' }), { kind: 'version' });
});

test('check takes one file, whatever the environment says', () => {
  assert.deepEqual(parseCommand(['check', 'a b.db'], { NOTES_PORT: 'x' }), { kind: 'check', file: 'a b.db' });
  for (const flag of ['--help', '-h']) assert.deepEqual(parseCommand(['check', flag], {}), { kind: 'help' });
  for (const words of [[], [''], ['--db'], ['-x', 'a.db'], ['a.db', 'b.db'], ['a.db', '--port', '1']]) {
    assert.throws(() => parseCommand(['check', ...words], {}), UsageError, words.join(' '));
  }
  for (const args of [
    ['--port', '1', 'check', 'a.db'],
    ['checks', 'a.db'],
    ['Check', 'a.db'],
  ]) {
    assert.throws(() => parseCommand(args, {}), UsageError, args.join(' '));
  }
});

test('no command line and no environment makes it throw anything but a usage error', () => {
  const word = fc.oneof(
    fc.constantFrom(...SAMPLES.map(({ flag }) => `--${flag}`), '--help', '--', 'check'),
    fc.string(),
  );
  const environment = fc.dictionary(fc.constantFrom(...SAMPLES.map(({ flag }) => variable(flag)), 'HOST'), fc.string());
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
