// The clients that the guide to following changes shows, as their users run them: killed and
// started again, while the service is stopped and started, and with an expired cursor. That they
// send their key is tested with the other clients.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  CLIENTS,
  type Client,
  clientFolder,
  create,
  START,
  seenBy,
  untilSeen,
} from '../support/change-clients.ts';
import { lastingPort, startRelay } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { until } from '../support/until.ts';

function assertNoGap(clients: readonly Client[], count: number): void {
  let last = 0;
  for (const client of clients) {
    const seen = seenBy(client);
    const [first = 0] = seen;
    assert.deepEqual(
      seen,
      seen.map((_, index) => first + index),
    );
    // What was handled when the client was killed may be handled again.
    assert.ok(first <= last + 1, `${first} after ${last}`);
    last = seen.at(-1) ?? last;
  }
  assert.equal(last, count);
}

// The clients wait for a second before they connect again, so they run side by side.
describe('clients of changes', { concurrency: true }, () => {
  for (const client of CLIENTS) {
    const { script, missing } = client;
    const reason = `there is no ${missing} here`;

    test(`changes: ${script} misses nothing while it or the service is away`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const place = clientFolder(t, client);
      const port = await lastingPort();
      let service = await startService(t, { port });
      const { file: db } = service;
      const first = place.start(service);
      await until(() => first.lines().length > 0);

      const writing = create(service, 300);
      await until(() => seenBy(first).length > 20);
      first.kill();
      await writing;
      const second = place.start(service);
      await create(service, 10);
      await untilSeen(second, 310);

      await service.close();
      service = await startService(t, { db, port });
      await create(service, 10);
      await untilSeen(second, 320);

      await service.close();
      second.kill();
      const third = place.start(service);
      service = await startService(t, { db, port });
      await create(service, 10);
      await untilSeen(third, 330);

      const clients = [first, second, third];
      assertNoGap(clients, 330);
      const starts = clients.flatMap(({ lines }) => lines()).filter((line) => line === START);
      assert.equal(starts.length, 1);
    });

    test(`changes: ${script} starts again if its cursor has expired`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const place = clientFolder(t, client);
      const service = await startService(t);
      await create(service, 2);
      writeFileSync(join(place.folder, 'notes-cursor'), '00000000-1');
      const running = place.start(service);
      await until(() => running.lines().length > 0);
      await create(service, 1);
      await untilSeen(running, 3);
      assert.deepEqual(running.lines()[0], START);
      assert.deepEqual(seenBy(running), [3]);
    });

    test(`changes: ${script} gives up a connection on which nothing comes any more`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const service = await startService(t);
      let dead = 0;
      let opened = 0;
      const url = await startRelay(
        t,
        async () => service.url,
        (server, client) => {
          opened += 1;
          const own = opened;
          server.on('data', (part) => own > dead && client.write(part));
          return new Promise((resolve) => client.on('close', resolve));
        },
      );
      const running = clientFolder(t, client).start({ url });
      // The shell asks with `wait` in its second request.
      const waiting = script === 'changes.sh' ? 2 : 1;
      await until(() => running.lines().length > 0 && opened === waiting);
      dead = opened;
      await create(service, 1);
      // It takes a minute at most.
      for (let half = 0; half < 3 && opened === dead; half += 1)
        await until(() => opened > dead).catch(() => {});
      await untilSeen(running, 1);
      assert.deepEqual(running.lines().length, 2);
    });

    test(`changes: ${script} asks again after 429 and 503`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const statuses = [429, 503];
      const refusing = createServer((_request, response) => {
        response.writeHead(statuses.shift() ?? 503, { 'retry-after': '1', connection: 'close' });
        response.end();
      });
      const port = await lastingPort();
      await once(refusing.listen(port, '127.0.0.1'), 'listening');
      t.after(() => void refusing.close());
      const url = `http://127.0.0.1:${port}`;
      const running = clientFolder(t, client).start({ url });
      await until(() => statuses.length === 0);
      refusing.close();
      await once(refusing, 'close');
      await startService(t, { port });
      await until(() => running.lines().length > 0);
      assert.deepEqual(running.lines(), [START]);
    });
  }
});
