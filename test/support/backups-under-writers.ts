// Makes backups while clients write to the service, and checks that each one is complete, intact
// and contains every acknowledged write.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFile } from '../../src/commands/check.ts';
import { runCommand } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { filledFile } from './filled.ts';
import { startService } from './service.ts';
import { beside } from './stored-data.ts';
import { until } from './until.ts';

/** The size of the test. */
export interface Sizes {
  readonly notes: number;
  readonly writers: number;
  readonly backups: number;
}

/** Leaves CPU time to the backup. */
const PAUSE_MS = 5;

/** Each writer numbers its notes, so that a missing or misplaced one shows. */
const NOTES_BY_WRITER = `
  SELECT title, count(*) AS count, max(number) AS last, min(in_order) AS ordered
  FROM (SELECT title, number,
          number = coalesce(lag(number) OVER (PARTITION BY title ORDER BY id), 0) + 1 AS in_order
        FROM (SELECT id, title, CAST(body AS INTEGER) AS number FROM notes WHERE title LIKE 'by %'))
  GROUP BY title`;

export async function testBackupsUnderWriters(t: TestContext, sizes: Sizes): Promise<void> {
  const { notes, writers, backups } = sizes;
  const service = await startService(t, { db: await filledFile(t, notes) });
  const folder = temporaryFolder(t);
  const sent = Array<number>(writers).fill(0);
  const acknowledged = Array<number>(writers).fill(0);
  let isWriting = true;

  async function write(writer: number): Promise<void> {
    for (let turn = 1; isWriting; turn += 1) {
      sent[writer] = turn;
      const json = { title: `by ${writer}`, body: String(turn) };
      assert.equal((await service.request('POST', '/notes', { json })).status, 201);
      acknowledged[writer] = turn;
      await sleep(PAUSE_MS);
    }
  }

  const written = Promise.all(sent.map((_, writer) => write(writer)));
  for (let round = 0; round < backups; round += 1) {
    const target = join(folder, `${round}.db`);
    const least = [...acknowledged];
    const { status, stdout } = await runCommand(t, ['backup', target, '--db', service.file]);
    const most = [...sent];
    assert.deepEqual([status, stdout], [0, `backed up ${service.file} to ${target}\n`]);
    assert.deepEqual(await checkFile(target), []);
    const found = await beside(target, (connection) => connection.run({ sql: NOTES_BY_WRITER }));
    for (let writer = 0; writer < writers; writer += 1) {
      const row = found.find(({ title }) => title === `by ${writer}`);
      const { count = 0, last = 0, ordered = 1 } = row ?? {};
      assert.deepEqual([count, ordered], [last, 1], `writer ${writer}`);
      const label = `${last} of writer ${writer}`;
      assert.ok(
        Number(last) >= Number(least[writer]) && Number(last) <= Number(most[writer]),
        label,
      );
    }
    const restored = await startService(t, { db: target });
    assert.equal((await restored.request('GET', '/notes/1')).json.title, 'title 1');
    const json = { title: 'a', body: 'b' };
    assert.equal((await restored.request('POST', '/notes', { json })).status, 201);
    await restored.close();
    // Every writer goes on.
    await until(() => acknowledged.every((turn, writer) => turn > Number(most[writer])));
  }
  isWriting = false;
  await written;
  assert.equal(readdirSync(folder).length, backups);
}
