// Whether the service is up and of use: GET /health (specification, section 4.4), and for those who start and balance
// services /livez and /readyz, as the servers of Kubernetes answer them.
import { setTimeout as delay } from 'node:timers/promises';
import { endpoint } from './contract/endpoint.ts';
import type { Route } from './http/dispatch.ts';
import { unavailable } from './http/problem.ts';
import { jsonReply, type Reply, textReply } from './http/reply.ts';
import type { Database } from './storage/database.ts';

/** The health record: specification, section 2. */
export interface Health {
  readonly status: 'ok';
  readonly db: 'ok' | 'error';
}

/** What a probe looks at, and whether it was found well. */
type Check = readonly [name: string, passed: boolean];

const ANSWER_WITHIN_MS = 1_000;
const NO_STORE = ['cache-control', 'no-store'];
const NOT_NOW = [...NO_STORE, 'retry-after', '1'];

/**
 * Returns the routes. Health is 200 when every connection answers a real query within a second, else 503 with the same record;
 * a problem with the same status from when `isStopping` on, whatever the database says. Ready is who is healthy; alive is
 * who answers at all.
 */
export function healthRoutes(database: Pick<Database, 'ping'>, isStopping: () => boolean): Route[] {
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
    const timer = new AbortController();
    const late = delay(ANSWER_WITHIN_MS, false, { signal: timer.signal });
    // Else a process that is finished would stay for it.
    return Promise.race([asked, late]).finally(() => timer.abort());
  }

  return [
    endpoint('GET', '/health', async () => {
      if (isStopping()) throw unavailable('The service is shutting down.');
      const db = await answers();
      const health: Health = { status: 'ok', db: db ? 'ok' : 'error' };
      return jsonReply(db ? 200 : 503, JSON.stringify(health), db ? NO_STORE : NOT_NOW);
    }),

    endpoint<{ verbose?: string }>('GET', '/livez', ({ parameters }) =>
      probeReply('livez', parameters.verbose !== undefined, [['ping', true]]),
    ),

    endpoint<{ verbose?: string }>('GET', '/readyz', async ({ parameters }) =>
      probeReply('readyz', parameters.verbose !== undefined, [
        ['shutdown', !isStopping()],
        ['database', await answers()],
      ]),
    ),
  ];
}

/** `ok`, or a line for each check if one has failed or if they are asked for. */
function probeReply(name: string, verbose: boolean, checks: readonly Check[]): Reply {
  const passed = checks.every(([, passed]) => passed);
  if (passed && !verbose) return textReply(200, 'ok\n', NO_STORE);
  const lines = checks.map(([check, passed]) => (passed ? `[+]${check} ok` : `[-]${check} failed`));
  lines.push(`${name} check ${passed ? 'passed' : 'failed'}`, '');
  return passed ? textReply(200, lines.join('\n'), NO_STORE) : textReply(503, lines.join('\n'), NOT_NOW);
}
