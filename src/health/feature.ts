// For operators: /health, and /livez and /readyz as Kubernetes has them.
import { setTimeout as delay } from 'node:timers/promises';
import { endpoint } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Database } from '../storage/database.ts';

const MAX_ANSWER_MS = 1_000;
const TEXT = ['content-type', 'text/plain; charset=utf-8'];
const NO_STORE = ['cache-control', 'no-store'];
const RETRY_SOON = [...NO_STORE, 'retry-after', '1'];

/** The health checks; all but /livez fail with the database or a stop. */
export function health(database: Pick<Database, 'ping'>, isStopping: () => boolean) {
  let running: Promise<boolean> | undefined;

  function ping(): Promise<boolean> {
    // Concurrent checks share one ping, so that no pings queue up while the database hangs.
    running ??= database
      .ping()
      .then(() => true)
      .catch(() => false)
      .finally(() => {
        running = undefined;
      });
    return Promise.race([running, delay(MAX_ANSWER_MS, false, { ref: false })]);
  }

  const routes = [
    endpoint('GET', '/health', async () => {
      if (isStopping()) throw unavailable('The service is shutting down.');
      return (await ping())
        ? jsonReply(200, '{"status":"ok","db":"ok"}', NO_STORE)
        : jsonReply(503, '{"status":"ok","db":"error"}', RETRY_SOON);
    }),

    endpoint<{ verbose?: string }>('GET', '/livez', ({ parameters }) =>
      probeReply('livez', parameters.verbose, { ping: true }),
    ),

    endpoint<{ verbose?: string }>('GET', '/readyz', async ({ parameters }) =>
      probeReply('readyz', parameters.verbose, {
        shutdown: !isStopping(),
        database: await ping(),
      }),
    ),
  ];
  return { routes: () => routes } satisfies Feature;
}

/** Returns `ok`, or a line for each check if one has failed or the query has `verbose`. */
function probeReply(
  name: string,
  verbose: string | undefined,
  checks: Readonly<Record<string, boolean>>,
): Reply {
  const passed = Object.values(checks).every(Boolean);
  const headers = [...TEXT, ...(passed ? NO_STORE : RETRY_SOON)];
  if (passed && verbose === undefined) return { status: 200, headers, body: 'ok\n' };
  const lines = Object.entries(checks).map(([check, ok]) =>
    ok ? `[+]${check} ok\n` : `[-]${check} failed\n`,
  );
  const body = `${lines.join('')}${name} check ${passed ? 'passed' : 'failed'}\n`;
  return { status: passed ? 200 : 503, headers, body };
}
