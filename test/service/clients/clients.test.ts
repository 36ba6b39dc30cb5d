// The client scripts that the guides show, as their users run them, with a key. In the endurance
// tests they are refused, lose their connection and are killed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as following from '../../support/change-clients.ts';
import { assertStored, CLIENTS, REPORT, runClient } from '../../support/client-scripts.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { until } from '../../support/until.ts';

const KEY = 'a-key-for-scripts';

for (const client of CLIENTS) {
  const { script, needs, isThere } = client;
  test(`clients: ${script} sends its key, and fails with a wrong one`, async (t) => {
    if (!isThere) return skipLoudly(t, `there is no ${needs} here`);
    const service = await startService(t, { apiKeys: [KEY] });
    await assert.rejects(runClient(client, service, 'another'), ({ code, stdout, stderr }) => {
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
      assert.match(stderr, /key/);
      return true;
    });
    assert.deepEqual(await runClient(client, service, KEY), { stdout: REPORT, stderr: '' });
    await assertStored(service, { authorization: `Bearer ${KEY}` });
  });
}

for (const client of following.CLIENTS) {
  const { script, missing } = client;
  test(`changes: ${script} sends its key, and fails with a wrong one`, async (t) => {
    if (missing.length > 0) return skipLoudly(t, `there is no ${missing} here`);
    const place = following.clientFolder(t, client);
    const service = await startService(t, { apiKeys: [KEY] });
    const refused = place.start(service, 'another');
    const [status] = await once(refused.process, 'exit');
    assert.equal(status, 1);
    assert.match(refused.errors(), /"detail":"[^"]*key/);
    assert.deepEqual(refused.lines(), []);
    assert.ok(!existsSync(join(place.folder, 'notes-cursor')));

    const running = place.start(service, KEY);
    await until(() => running.lines().length > 0);
    const headers = { authorization: `Bearer ${KEY}` };
    await service.request('POST', '/notes', { ...following.NOTE, headers });
    await following.untilSeen(running, 1);
  });
}
