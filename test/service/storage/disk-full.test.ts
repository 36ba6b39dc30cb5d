// A file that may not grow (max_page_count): writes are 503, reads go on, and writes work when
// there is room again. The endurance tests do the same on a disk that is really full.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import sqlite3 from 'sqlite3';
import { newFile } from '../../support/databases.ts';
import { type Cramped, runOutOfRoom } from '../../support/full-disk.ts';
import { startService } from '../../support/service.ts';

async function withFewPages(test: TestContext): Promise<Cramped> {
  const connections = new Set<sqlite3.Database>();
  const original = sqlite3.Database.prototype.exec;
  sqlite3.Database.prototype.exec = function (...args) {
    connections.add(this);
    return original.apply(this, args);
  };
  const service = await startService(test, { db: newFile(test) });
  sqlite3.Database.prototype.exec = original;
  const allow = (pages: number) => {
    const done = [...connections].map(
      (connection) =>
        new Promise<void>((resolve, reject) => {
          connection.exec(`PRAGMA max_page_count = ${pages}`, (error) =>
            error ? reject(error) : resolve(),
          );
        }),
    );
    return Promise.all(done);
  };
  assert.equal(connections.size, 4);
  await allow(100);
  return { service, makeRoom: () => allow(1_000_000) };
}

test('full disk: writes are 503, reads go on, all works once there is room', async (t) =>
  runOutOfRoom(await withFewPages(t)));
