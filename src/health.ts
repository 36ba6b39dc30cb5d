// GET /health: whether the service is up and its database answers (specification, section 4.4).
import { setTimeout as delay } from 'node:timers/promises';
import { endpoint } from './contract/endpoint.ts';
import type { Route } from './http/dispatch.ts';
import { unavailable } from './http/problem.ts';
import { jsonReply } from './http/reply.ts';
import type { Database } from './storage/database.ts';

/** The health record: specification, section 2. */
export interface Health {
  readonly status: 'ok';
  readonly db: 'ok' | 'error';
}

const ANSWER_WITHIN_MS = 1_000;

/**
 * Returns the route: 200 when every connection answers a real query within a second, else 503 with the same record; a
 * problem with the same status from when `isStopping` on, whatever the database says.
 */
export function healthRoute(database: Database, isStopping: () => boolean): Route {
  let asked: Promise<boolean> | undefined;

  /** Whether the database answers. Who asks while it is being asked shares the answer: a hanging one gathers no queue. */
  function answers(): Promise<boolean> {
    asked ??= database
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        asked = undefined;
      });
    return asked;
  }

  return endpoint('GET', '/health', async () => {
    if (isStopping()) throw unavailable('The service is shutting down.');
    const db = await Promise.race([answers(), delay(ANSWER_WITHIN_MS, false)]);
    const health: Health = { status: 'ok', db: db ? 'ok' : 'error' };
    const headers = db ? ['cache-control', 'no-store'] : ['cache-control', 'no-store', 'retry-after', '1'];
    return jsonReply(db ? 200 : 503, JSON.stringify(health), headers);
  });
}
