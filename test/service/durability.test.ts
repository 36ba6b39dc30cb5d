// Acknowledged means kept: the process is killed, without a chance to tidy up, right after some write has been
// acknowledged and while others are under way; the next one, on the same file, must have all that was acknowledged.
// (That a commit waits for the disk is shown by `synchronous` in test/storage/sqlite.test.ts.)
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { newFile, openOther } from '../storage/databases.ts';
import { ask, type Command, startCommand } from './command.ts';

const ROUNDS = 5;
const CLIENTS = 12;

/** What a client knows of its note: the texts it may have (undefined: none, for it is deleted); two while in doubt. */
type Ledger = Map<number, (string | undefined)[]>;

/**
 * Creates, replaces and deletes notes one after the other, each write once the one before is acknowledged, until the
 * service is gone. Replacing is told apart from creating by its text.
 */
async function writeUntilGone(url: string, name: string, ledger: Ledger, acknowledged: () => void): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    const text = `${name}, ${turn}`;
    const created = await ask(url, 'POST', '/notes', { title: text, body: text });
    assert.equal(created.status, 201);
    const { id } = JSON.parse(created.text);
    assert.ok(!ledger.has(id), `id ${id} was given twice`);
    ledger.set(id, [text]);
    acknowledged();

    ledger.set(id, [text, `${text} again`]);
    const replaced = await ask(url, 'PUT', `/notes/${id}`, { title: `${text} again`, body: text });
    assert.equal(replaced.status, 200);
    ledger.set(id, [`${text} again`]);
    acknowledged();

    if (turn % 2 === 0) continue;
    ledger.set(id, [`${text} again`, undefined]);
    assert.equal((await ask(url, 'DELETE', `/notes/${id}`)).status, 204);
    ledger.set(id, [undefined]);
    acknowledged();
  }
}

/** Lets clients write until `count` writes are acknowledged, and kills the service at that very moment. */
async function writeAndKill(command: Command, url: string, round: number, count: number, ledger: Ledger) {
  let left = count;
  const acknowledged = () => {
    left -= 1;
    if (left === 0) command.process.kill('SIGKILL');
  };
  const clients = Array.from({ length: CLIENTS }, (_, client) =>
    writeUntilGone(url, `round ${round}, client ${client}`, ledger, acknowledged),
  );
  for (const outcome of await Promise.allSettled(clients)) {
    assert.ok(outcome.status === 'rejected');
    // The connection broke; anything else is a finding.
    assert.ok(outcome.reason instanceof TypeError, outcome.reason);
  }
  assert.equal((await command.ended).signal, 'SIGKILL');
}

async function assertKept(url: string, ledger: Ledger): Promise<void> {
  for (const [id, texts] of ledger) {
    const { status, text } = await ask(url, 'GET', `/notes/${id}`);
    const found = status === 404 ? undefined : JSON.parse(text).title;
    assert.ok(texts.includes(found), `note ${id} is ${found}, not ${texts.join(' or ')}`);
    ledger.set(id, [found]);
  }
}

test('what was acknowledged is there after the process was killed, time and again', async (t) => {
  const path = newFile(t);
  const ledger: Ledger = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const command = startCommand(t, ['--port', '0', '--log-level', 'error', '--db', path]);
    const url = await command.ready();
    await assertKept(url, ledger);
    await writeAndKill(command, url, round, 60 + 23 * round, ledger);
    assert.ok(statSync(`${path}-wal`).size > 0, 'the file was tidied up');
  }
  const command = startCommand(t, ['--port', '0', '--log-level', 'error', '--db', path]);
  await assertKept(await command.ready(), ledger);
  assert.ok(ledger.size > ROUNDS * 20);

  command.process.kill('SIGKILL');
  await command.ended;
  const other = await openOther(t, path);
  assert.deepEqual(await other.run({ sql: 'PRAGMA integrity_check' }), [{ integrity_check: 'ok' }]);
});
