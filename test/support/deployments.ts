// A service on each kind of database and with several processes.
import { clusterAddress, type Ends } from './engine.ts';
import { request } from './http.ts';
import { startProcesses } from './processes.ts';
import { startStandIn } from './rqlite-stand-in.ts';
import { type Service, startService } from './service.ts';

/** A running service, whatever runs it. */
export type Target = Pick<Service, 'request' | 'url'>;

type Start = (test: Ends) => Promise<Target>;

/** The deployments of every test run. */
const USUAL: Readonly<Record<string, Start>> = {
  'the database of the tests': (test) => startService(test),
  'the stand-in of a cluster': async (test) =>
    startService(test, { db: clusterAddress((await startStandIn(test)).nodes) }),
};

/** The deployments of the endurance tests alone. */
const OTHERS: Readonly<Record<string, Start>> = {
  memory: (test) => startService(test, { db: ':memory:' }),
  async 'two processes'(test) {
    const { url } = await startProcesses(test, 2);
    return { url, request: (...args) => request(url, ...args) };
  },
};

/** Functions that start a service, by deployment; deployments.test.ts sets the variable. */
export const DEPLOYMENTS = process.env.NOTES_TEST_DEPLOYMENTS === 'others' ? OTHERS : USUAL;
