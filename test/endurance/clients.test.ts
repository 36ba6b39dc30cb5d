// The client scripts against the real rate limit, which another client exhausts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS, isInstalled, REPORT, runClient } from '../support/client-scripts.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { until } from '../support/until.ts';

for (const client of CLIENTS) {
  test(`clients: ${client.script} continues after the rate limit`, async (t) => {
    if (!isInstalled(client.needs)) return skipLoudly(t, `there is no ${client.needs} here`);
    const service = await startService(t, { rateLimit: 600 });
    // The other client has the same address. It continues until the script has been refused.
    const exhaustUntilRefused = (method: string) =>
      until(async () => {
        await Promise.all(Array.from({ length: 50 }, () => service.request('GET', '/tags')));
        return service.log.some(({ fields }) => fields.method === method && fields.status === 429);
      });
    await exhaustUntilRefused('GET');
    const ending = runClient(client, service);
    await exhaustUntilRefused('POST');
    assert.equal((await ending).stdout, REPORT);
  });
}
