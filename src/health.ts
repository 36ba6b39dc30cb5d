// GET /health: whether the service is up and its database answers (specification, section 4.4).
import { endpoint } from './contract/endpoint.ts';
import type { Health } from './contract/records.ts';
import type { Route } from './http/dispatch.ts';
import { jsonReply } from './http/reply.ts';
import type { Database } from './storage/database.ts';

const ANSWER_WITHIN_MS = 1_000;

/** Returns the route: 200 when every connection answers a real query within a second, else 503 with the same record. */
export function healthRoute(database: Database): Route {
  return endpoint('GET', '/health', async () => {
    const db = await answersInTime(database);
    const health: Health = { status: 'ok', db: db ? 'ok' : 'error' };
    const headers = db ? ['cache-control', 'no-store'] : ['cache-control', 'no-store', 'retry-after', '1'];
    return jsonReply(db ? 200 : 503, JSON.stringify(health), headers);
  });
}

async function answersInTime(database: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
  });
  const answered = database.ping().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}
