// Controls the `sqlite3` package in this process: calls fail on demand, with an error code of
// SQLite and each of the transaction states that SQLite may leave; and waits for locks become
// short.
import sqlite3 from 'sqlite3';
import type { Ends } from './engine.ts';

/** The error codes with their numbers. */
export const CODES = { BUSY: 5, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13 } as const;

/** A fault of a coming call. */
export interface Fault {
  /** The number of the call that fails; 1 is the next one. */
  readonly call: number;
  readonly code: keyof typeof CODES;
  /** Whether one call fails, SQLite also rolls back, or all later calls fail too. */
  readonly manner: 'once' | 'once, rolled back' | 'lasting';
}

/** The controlled driver. */
export interface FailingDriver {
  /** Arms `fault`, or no fault. */
  arm(fault: Fault | undefined): void;
  hasFailed(): boolean;
}

type Callback = (error: Error | null, ...rest: unknown[]) => void;
type Method = (this: object, ...parts: unknown[]) => unknown;

/** Controls the calls that run, prepare and execute SQL until the end of the test. */
export function controlDriver(test: Ends): FailingDriver {
  const databases = new WeakMap<object, object>();
  let fault: Fault | undefined;
  let calls = 0;
  let failed = false;

  function fail(database: object | undefined, { code, manner }: Fault, callback: Callback): void {
    failed = true;
    const error = Object.assign(new Error(`SQLITE_${code}: made to fail`), {
      errno: CODES[code],
      code: `SQLITE_${code}`,
    });
    const report = () => callback(error);
    if (manner === 'once, rolled back' && database) exec.call(database, 'ROLLBACK', report);
    else setImmediate(report);
  }

  /** `databaseOf` returns the connection that the method works on. */
  function control(
    prototype: object,
    name: string,
    databaseOf: (self: object) => object | undefined,
  ): Method {
    const original = Reflect.get(prototype, name) as Method;
    Reflect.set(prototype, name, function (this: object, ...parts: unknown[]) {
      if (fault) calls += 1;
      const isHit =
        fault && (fault.manner === 'lasting' ? calls >= fault.call : calls === fault.call);
      if (fault && isHit) return fail(databaseOf(this), fault, parts.at(-1) as Callback);
      const result = original.apply(this, parts);
      if (name === 'prepare') databases.set(result as object, this);
      return result;
    });
    test.after(() => Reflect.set(prototype, name, original));
    return original;
  }

  const exec = control(sqlite3.Database.prototype, 'exec', (self) => self);
  control(sqlite3.Database.prototype, 'prepare', (self) => self);
  control(sqlite3.Statement.prototype, 'all', (self) => databases.get(self));

  return {
    arm(next) {
      fault = next;
      calls = 0;
      failed = false;
    },
    hasFailed: () => failed,
  };
}

/** Lets new connections wait `ms` for locks until the end of the test. */
export function shortenLockWaits(test: Ends, ms: number): void {
  const { exec } = sqlite3.Database.prototype;
  sqlite3.Database.prototype.exec = function (sql, ...rest) {
    return exec.call(this, sql.replace(/busy_timeout = 5000\b/, `busy_timeout = ${ms}`), ...rest);
  };
  test.after(() => {
    sqlite3.Database.prototype.exec = exec;
  });
}
