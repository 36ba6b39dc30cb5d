// A service on each kind of database and with several processes.
import { clusterAddress, type Ends } from './engine.ts';
import { request } from './http.ts';
import { startProcesses } from './processes.ts';
import { startStandIn } from './rqlite-stand-in.ts';
import { type Service, startService } from './service.ts';

/** A running service, whatever runs it. */
export type Target = Pick<Service, 'request' | 'url'>;

type Start = (test: Ends) => Promise<Target>;

/** The places that every test run uses. */
export const SINGLE: Readonly<Record<string, Start>> = {
  'the database of the tests': (test) => startService(test),
  memory: (test) => startService(test, { db: ':memory:' }),
  'the stand-in of a cluster': async (test) =>
    startService(test, { db: clusterAddress((await startStandIn(test)).nodes) }),
};

/** Several processes on one file. */
export const PROCESSES: Readonly<Record<string, Start>> = {
  async 'two processes'(test) {
    const { url } = await startProcesses(test, 2);
    return { url, request: (...args) => request(url, ...args) };
  },
};

/**
 * Functions that start a service, by the name of the place where it keeps its data. Several
 * processes take long to start, so the endurance tests use them, in places.test.ts.
 */
export const PLACES = process.env.NOTES_TEST_PLACES === 'processes' ? PROCESSES : SINGLE;
