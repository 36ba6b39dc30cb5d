// A second service on one file: both work, and the log of the second one says so. The processes of
// one service do not count, nor does what a killed one has left.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { request } from '../support/http.ts';
import { assertSound } from '../support/stored-data.ts';

const WARNING = 'another process uses the database';
const NOTE = { title: 'a', body: 'b' };

for (const [processes, signal] of [
  ['1', 'SIGKILL'],
  ['2', 'SIGTERM'],
] as const) {
  test(`second service: beside ${processes} process(es), and after ${signal}`, async (t) => {
    const db = newFile(t);
    const start = async () => {
      const args = ['--port', '0', '--log-level', 'warn', '--processes', processes, '--db', db];
      const command = startCommand(t, args);
      const url = await command.ready();
      const post = async () => (await request(url, 'POST', '/notes', { json: NOTE })).status;
      assert.equal(await post(), 201);
      return { command, post };
    };
    const [first, second] = [await start(), await start()];
    assert.equal(await first.post(), 201);
    const { status, stderr } = await stop(second.command);
    assert.deepEqual([status, stderr.split('\n').length], [0, 2], stderr);
    const { message, file } = JSON.parse(stderr);
    assert.deepEqual([message, file], [WARNING, db]);
    assert.equal((await stop(first.command, signal)).stderr, '');

    const third = await start();
    assert.equal((await stop(third.command)).stderr, '');
    await assertSound(db);
  });
}
