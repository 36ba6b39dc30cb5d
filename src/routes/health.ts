// Health checks: /health answers in JSON, /livez and /readyz in the format of Kubernetes servers.
import { setTimeout as delay } from 'node:timers/promises';
import { endpoint } from '../contract/endpoint.ts';
import { unavailable } from '../http/problem.ts';
import { jsonReply, type Reply, textReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { Database } from '../storage/database.ts';

/** The answer of /health. */
export interface Health {
  readonly status: 'ok';
  readonly db: 'ok' | 'error';
}

/** A check of a probe, and whether it passed. */
type Check = readonly [name: string, passed: boolean];

const MAX_ANSWER_MS = 1_000;
const NO_STORE = ['cache-control', 'no-store'];
const RETRY_SOON = [...NO_STORE, 'retry-after', '1'];

/**
 * Returns the routes of the health checks. /health and /readyz answer 503 while `isStopping`, and
 * if the database does not answer within a second; /livez always answers 200.
 */
export function healthRoutes(database: Pick<Database, 'ping'>, isStopping: () => boolean): Route[] {
  const ping = createPing(database);

  return [
    endpoint('GET', '/health', async () => {
      if (isStopping()) throw unavailable('The service is shutting down.');
      const isUp = await ping();
      const health: Health = { status: 'ok', db: isUp ? 'ok' : 'error' };
      return jsonReply(isUp ? 200 : 503, JSON.stringify(health), isUp ? NO_STORE : RETRY_SOON);
    }),

    endpoint<{ verbose?: string }>('GET', '/livez', ({ parameters }) =>
      probeReply('livez', parameters.verbose !== undefined, [['ping', true]]),
    ),

    endpoint<{ verbose?: string }>('GET', '/readyz', async ({ parameters }) =>
      probeReply('readyz', parameters.verbose !== undefined, [
        ['shutdown', !isStopping()],
        ['database', await ping()],
      ]),
    ),
  ];
}

/** Returns a function that resolves with whether the database answers in time. */
function createPing(database: Pick<Database, 'ping'>): () => Promise<boolean> {
  let running: Promise<boolean> | undefined;

  return () => {
    // Concurrent checks share one ping, so that no pings queue up while the database hangs.
    running ??= database
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        running = undefined;
      });
    const timer = new AbortController();
    const late = delay(MAX_ANSWER_MS, false, { signal: timer.signal });
    // Otherwise the timer would delay the end of the process.
    return Promise.race([running, late]).finally(() => timer.abort());
  };
}

/** Returns `ok`, or a line for each check if one has failed or `isVerbose`. */
function probeReply(name: string, isVerbose: boolean, checks: readonly Check[]): Reply {
  const passed = checks.every(([, passed]) => passed);
  if (passed && !isVerbose) return textReply(200, 'ok\n', NO_STORE);
  const lines = checks.map(([check, passed]) => (passed ? `[+]${check} ok` : `[-]${check} failed`));
  lines.push(`${name} check ${passed ? 'passed' : 'failed'}`, '');
  return passed
    ? textReply(200, lines.join('\n'), NO_STORE)
    : textReply(503, lines.join('\n'), RETRY_SOON);
}
