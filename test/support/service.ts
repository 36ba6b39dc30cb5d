// Starts the real service inside the test's process, with a fresh database, and sends it requests.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { startApp } from '../../src/app.ts';
import { parseCommand } from '../../src/cli/command-line.ts';
import { parseDatabase } from '../../src/cli/option-values.ts';
import type { Options } from '../../src/cli/options.ts';
import type { Log } from '../../src/log/log.ts';
import { writeMigrated } from './databases.ts';
import { type Ends, emptyDatabase, needsFile } from './engine.ts';
import { type Answer, type RequestParts, request } from './http.ts';

/** One line of the service's log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A running service. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** Its database as `--db` takes it: the path of a file, unless the tests run on a cluster. */
  readonly file: string;
  readonly log: readonly LogLine[];
  /** Resolves with the answer, which has been validated against the contract. */
  request(method: string, path: string, parts?: RequestParts): Promise<Answer>;
  /** Reads the file of keys again, as a SIGHUP asks for. */
  reloadKeys(): Promise<unknown>;
  close(): Promise<void>;
}

/** What a test sets of the options; `db` is a text, as `--db` takes it. */
export interface Overrides extends Partial<Omit<Options, 'db'>> {
  readonly db?: string;
}

/** Returns the options that the command line `args` sets, with a free port. */
export function optionsFor(...args: string[]): Options {
  const command = parseCommand(['--port', '0', ...args], {});
  if (command.kind !== 'serve') throw new Error('these arguments do not start the service');
  return command.options;
}

/** Starts a service, by default on a fresh database; `{ after }` keeps it for a whole file. */
export async function startService(test: Ends, overrides: Overrides = {}): Promise<Service> {
  const { db: file, release } = overrides.db
    ? { db: overrides.db, release() {} }
    : await emptyDatabase(test);
  if (!overrides.db && !needsFile) await writeMigrated(file);
  const lines: LogLine[] = [];
  const log: Log = {
    writes: () => true,
    write: (level, message, fields = {}) => lines.push({ level, message, fields }),
    flush: () => {},
  };
  // A test that computes for seconds must not find the connections of its client closed.
  const options = optionsFor('--idle-timeout', '60');
  const app = await startApp({ ...options, ...overrides, db: parseDatabase(file) }, log);
  const url = app.address;
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  let closed: Promise<void> | undefined;

  const service: Service = {
    url,
    port: Number(new URL(url).port),
    file,
    log: lines,
    request: (method, path, parts = {}) => request(url, method, path, { agent, ...parts }),
    reloadKeys: () => app.reloadKeys(),
    close() {
      agent.destroy();
      closed ??= app.close();
      return closed;
    },
  };
  // A test that has stopped the service itself has seen whether that failed.
  test.after(() => (closed ? closed.catch(() => {}) : service.close()).then(release));
  return service;
}

/** Asserts that the service has logged no error. */
export function assertNoErrors({ log }: Service): void {
  const errors = log.filter(({ level }) => level === 'error');
  assert.deepEqual(errors, []);
}
