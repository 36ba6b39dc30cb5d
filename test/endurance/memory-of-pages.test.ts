// Pages of 60 MB, because each character of their notes is six in JSON.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { change, newFile, openPath, withNumbers, writeMigrated } from '../support/databases.ts';
import { send } from '../support/http.ts';
import { CANNOT_LOOK } from '../support/threads.ts';

const NOTE = { title: 'note', body: '\u0001'.repeat(100_000) };

/** Returns the most memory that a process has had, in MB. */
function peakOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kilobytes) / 1_024;
}

test('large pages: take a bounded amount of memory', { skip: CANNOT_LOOK }, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  for (let count = 0; count < 130; count += 1) await send(url, 'POST', '/notes', { json: NOTE });
  const take = async (offset: number) =>
    (await send(url, 'GET', `/notes?limit=100&offset=${offset}`)).status;
  const { pid } = command.process;

  async function peakWhile(read: () => Promise<number[]>): Promise<number> {
    // The peak begins anew.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const statuses = await read();
    assert.ok(statuses.includes(200), String(statuses));
    return peakOf(pid);
  }

  const oneClient = await peakWhile(async () => {
    const statuses = [];
    for (let offset = 0; offset < 10; offset += 1) statuses.push(await take(offset));
    return statuses;
  });
  // Each page is another one.
  const manyClients = await peakWhile(() =>
    Promise.all(Array.from({ length: 30 }, (_, offset) => take(offset))),
  );
  t.diagnostic(
    `at most ${Math.round(oneClient)} MB for one client, ${Math.round(manyClients)} for 30`,
  );
  assert.ok(oneClient < 400, `${oneClient} MB`);
  assert.ok(manyClients < 512, `${manyClients} MB`);
  assert.equal((await stop(command)).status, 0);
});

test('large pages: of notes with thousands of tags end at a bound', {
  skip: CANNOT_LOOK,
}, async (t) => {
  const db = newFile(t);
  await writeMigrated(db);
  const database = await openPath(db);
  for (const sql of [
    `${withNumbers(100)} INSERT INTO notes (title, body) SELECT 'note', 'b' FROM numbers`,
    `${withNumbers(3_000)}
     INSERT INTO tags (name) SELECT printf('%.*c', 190, char(1)) || n FROM numbers`,
    'INSERT INTO note_tags (note_id, tag_id) SELECT notes.id, tags.id FROM notes, tags',
  ])
    await change(database, sql);
  await database.close();
  const command = startCommand(t, ['--port', '0', '--db', db]);
  const url = await command.ready();
  const { status, json } = await send(url, 'GET', '/notes?limit=100&include=tags');
  assert.deepEqual([status, json.detail], [503, 'The answer would be too large. Ask for less.']);
  const fewer = await send(url, 'GET', '/notes?limit=20&include=tags');
  assert.equal(fewer.json.items[19].tags.length, 3_000);
  const peak = peakOf(command.process.pid);
  t.diagnostic(`at most ${Math.round(peak)} MB`);
  assert.ok(peak < 400, `${peak} MB`);
  assert.equal((await stop(command)).status, 0);
});
