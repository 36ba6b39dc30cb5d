// Kills a service while clients write, and checks afterwards that no acknowledged write is lost.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFile } from '../../src/commands/check.ts';
import { startCommand, stop } from './command.ts';
import { newFile } from './databases.ts';
import { between, brokenConnection, createLedger, type Ledger, writeOnce } from './ledger.ts';

const CLIENTS = 16;

async function writeUntilKilled(url: string, ledger: Ledger, name: string): Promise<void> {
  try {
    for (let turn = 0; ; turn += 1) await writeOnce(url, ledger, name, turn);
  } catch (error) {
    assert.ok(brokenConnection(error), error as Error);
  }
}

/** Kills a service `kills` times, after `writes` acknowledged writes each, and looks for all. */
export async function killRepeatedly(
  t: TestContext,
  kills: number,
  writes: readonly [number, number],
): Promise<void> {
  const path = newFile(t);
  let onAcknowledged = () => {};
  const ledger = createLedger(() => onAcknowledged());
  const args = ['--port', '0', '--log-level', 'error', '--db', path];
  const start = () => startCommand(t, args, { folder: dirname(path) });

  let command = start();
  let url = await command.ready();
  for (let kill = 1; kill <= kills; kill += 1) {
    const enough = ledger.acknowledged() + between(...writes);
    const clients = Promise.all(
      Array.from({ length: CLIENTS }, (_, client) =>
        writeUntilKilled(url, ledger, `kill ${kill}, client ${client}`),
      ),
    );
    const enoughWritten = new Promise<void>((resolve) => {
      onAcknowledged = () => ledger.acknowledged() >= enough && resolve();
    });
    await Promise.race([enoughWritten, clients]);
    // Half of the kills come right after an acknowledgement, to catch one that precedes its commit.
    for (let turns = between(0, 1) * between(1, 50); turns > 0; turns -= 1) await nextTurn();
    command.process.kill('SIGKILL');
    await clients;
    assert.equal((await command.ended).signal, 'SIGKILL');
    assert.ok(statSync(`${path}-wal`).size > 0, 'the service closed the file');
    command = start();
    url = await command.ready();
    await ledger.verify(url, 'touched');
    assert.deepEqual(await checkFile(path), []);
  }
  await ledger.verify(url, 'all');
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.deepEqual(await checkFile(path), []);
  assert.ok(ledger.acknowledged() >= kills * writes[0]);
  ledger.report(t, kills);
}
