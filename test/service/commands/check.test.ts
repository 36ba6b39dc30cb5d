// `notes-server check FILE`: what it prints, beside a service that writes, and what it refuses.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFile } from '../../../src/commands/check.ts';
import { runCommand } from '../../support/command.ts';
import { newFile, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { filledFile } from '../../support/filled.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const PAUSE_MS = 5;

test('check: ok beside a service that writes', async (t) => {
  const { request, file } = await startService(t, { db: newFile(t) });
  let isChecking = true;
  let writes = 0;
  async function write(): Promise<void> {
    for (; isChecking; writes += 1) {
      const { json } = await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
      if (json.id % 3 === 0)
        assert.equal((await request('DELETE', `/notes/${json.id}`)).status, 204);
      // Leaves CPU time to the check.
      await sleep(PAUSE_MS);
    }
  }

  const written = Promise.all(Array.from({ length: 4 }, write));
  const ending = await runCommand(t, ['check', file]);
  assert.deepEqual(ending, { status: 0, signal: null, stdout: `${file}: ok\n`, stderr: '' });
  for (let round = 0; round < 5; round += 1) {
    const before = writes;
    assert.deepEqual(await checkFile(file), []);
    await until(() => writes > before);
  }
  isChecking = false;
  await written;
});

test('check: shows its progress', async (t) => {
  const path = newFile(t);
  await runInProcess(['import', '--db', path], { input: await exported(await filledFile(t, 600)) });
  const { line, progress } = await runInProcess(['check', path]);
  assert.equal(line, `${path}: ok`);
  const percents = [...progress.matchAll(/checked (\d+) % of [\d,]+ KiB/g)].map(([, each]) => each);
  assert.deepEqual([percents[0], percents.includes('50'), percents.at(-1)], ['0', true, '100']);
  assert.ok(progress.endsWith('\n'));
});

/** Files that cannot be checked. A function makes each at a path, or returns another path. */
const UNREADABLE: Record<string, [make: (path: string, t: TestContext) => unknown, RegExp]> = {
  'a missing folder': [(path) => join(path, 'notes.db'), /there is no such file$/],
  'a folder': [(path) => join(path, '..'), /it is not a file$/],
  'a text file': [(path) => writeFileSync(path, 'a shopping list\n'), /not a SQLite database$/],
  'a database without tables': [(path) => writeForeignFile(path, 'VACUUM'), /it is empty$/],
  'a newer version': [
    async (path, t) => {
      await (await openDatabase(t, path)).close();
      await writeForeignFile(path, 'INSERT INTO notes_server_schema VALUES (99)');
    },
    /it has version 99, made by a newer notes-server; this one knows \d+/,
  ],
};

test('check: what it cannot read is refused', async (t) => {
  for (const [what, [make, reason]] of Object.entries(UNREADABLE)) {
    const path = newFile(t);
    const made = await make(path, t);
    await assert.rejects(checkFile(typeof made === 'string' ? made : path), reason, what);
  }
});
