// Makes calls of the `sqlite3` package fail on demand, in this whole process: each with one of its error codes, and in the
// ways in which SQLite leaves a transaction behind.
import type { TestContext } from 'node:test';
import sqlite3 from 'sqlite3';

/** The codes of the faults, with their numbers. */
export const CODES = { BUSY: 5, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13 } as const;

/** A fault to come. */
export interface Fault {
  /** Which call from now on fails; 1 is the next. */
  readonly call: number;
  readonly code: keyof typeof CODES;
  /**
   * That call alone fails, without doing anything; or, as well, SQLite has rolled back the transaction by itself; or all
   * calls fail from then on.
   */
  readonly manner: 'once' | 'once, rolled back' | 'lasting';
}

/** The driver under control. */
export interface FailingDriver {
  /** From now on `fault` is in force, or none. */
  arm(fault: Fault | undefined): void;
  /** Whether the armed fault has made a call fail. */
  hasFailed(): boolean;
}

type Callback = (error: Error | null, ...rest: unknown[]) => void;
type Method = (this: object, ...parts: unknown[]) => unknown;

/** Takes the calls that run, prepare and execute SQL under control; at the end of the test they are as they were. */
export function controlDriver(test: Pick<TestContext, 'after'>): FailingDriver {
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
    const tell = () => callback(error);
    if (manner === 'once, rolled back' && database) exec.call(database, 'ROLLBACK', tell);
    else setImmediate(tell);
  }

  /** Puts a method in the place of another that fails where it should; `databaseOf` tells the connection it works on. */
  function control(prototype: object, name: string, databaseOf: (self: object) => object | undefined): Method {
    const original = Reflect.get(prototype, name) as Method;
    Reflect.set(prototype, name, function (this: object, ...parts: unknown[]) {
      if (fault) calls += 1;
      const isHit = fault && (fault.manner === 'lasting' ? calls >= fault.call : calls === fault.call);
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
