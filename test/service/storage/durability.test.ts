// Acknowledged means kept: time and again the process is killed at a random moment while clients write, and the next one,
// on the same file, must have all that was acknowledged, nothing that was never sent, and the rest wholly or not at all.
// NOTES_TEST_KILLS says how often. (That a commit waits for the disk is shown by `synchronous` in sqlite.test.ts.)
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFile } from '../../../src/storage/check.ts';
import { type Command, startCommand, stop } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { between, createLedger, type Ledger, writeOnce } from '../../support/ledger.ts';

const KILLS = Number(process.env.NOTES_TEST_KILLS ?? 20);
const CLIENTS = 16;

/** How many acknowledged writes a kill comes after, at least and at most. */
const LEAST = 60;
const MOST = 240;

/** Generous, for the machine may be busy with other things: it takes a third of a second. */
const START_WITHIN_MS = 5_000;

/** What the clients do again and again until the service is gone. */
async function write(url: string, ledger: Ledger, name: string): Promise<never> {
  for (let turn = 0; ; turn += 1) await writeOnce(url, ledger, name, turn);
}

async function writeAndKill(command: Command, url: string, ledger: Ledger, name: string, killed: Promise<unknown>) {
  const clients = Array.from({ length: CLIENTS }, (_, client) => write(url, ledger, `${name}, client ${client}`));
  const outcomes = Promise.allSettled(clients);
  await killed;
  // Half of them at the very moment of an acknowledgement, when one that came before its commit would show.
  for (let turns = between(0, 1) * between(1, 50); turns > 0; turns -= 1) await nextTurn();
  command.process.kill('SIGKILL');
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === 'rejected');
    // The connection broke; anything else is a finding.
    assert.ok(outcome.reason instanceof TypeError, outcome.reason);
  }
  assert.equal((await command.ended).signal, 'SIGKILL');
}

test(`what was acknowledged is there after each of ${KILLS} kills, and nothing is half done`, async (t) => {
  const path = newFile(t);
  let whenAcknowledged = () => {};
  const ledger = createLedger(() => whenAcknowledged());
  const acknowledged = (count: number) =>
    new Promise<void>((resolve) => {
      whenAcknowledged = () => ledger.acknowledged() >= count && resolve();
    });
  const startTimes: number[] = [];

  async function start(): Promise<{ command: Command; url: string }> {
    const started = performance.now();
    const args = ['--port', '0', '--log-level', 'error', '--db', path];
    const command = startCommand(t, args, { folder: dirname(path) });
    const url = await command.ready();
    startTimes.push(performance.now() - started);
    return { command, url };
  }

  let running = await start();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const enough = acknowledged(ledger.acknowledged() + between(LEAST, MOST));
    await writeAndKill(running.command, running.url, ledger, `kill ${kill}`, enough);
    assert.ok(statSync(`${path}-wal`).size > 0, 'the file was tidied up');
    running = await start();
    await ledger.verify(running.url, 'touched');
    assert.deepEqual(await checkFile(path), []);
  }
  await ledger.verify(running.url, 'all');
  const { status, stderr } = await stop(running.command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.deepEqual(await checkFile(path), []);

  const afterKills = startTimes.slice(1).sort((one, other) => one - other);
  const slowest = afterKills.at(-1) ?? 0;
  const median = afterKills[Math.floor(afterKills.length / 2)] ?? 0;
  const { done, undone } = ledger.inDoubt();
  t.diagnostic(`${KILLS} kills, ${ledger.acknowledged()} acknowledged writes, all there`);
  t.diagnostic(`${done + undone} writes without an answer: ${done} wholly there, ${undone} not at all`);
  t.diagnostic(`start after a kill, with Node's own: median ${median.toFixed()} ms, slowest ${slowest.toFixed()} ms`);
  assert.ok(ledger.acknowledged() >= KILLS * 100);
  assert.ok(slowest < START_WITHIN_MS, `a start took ${slowest} ms`);
});
