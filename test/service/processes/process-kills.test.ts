// Acknowledged means kept when single processes of several are killed under load: the others serve on, another takes its
// place, and all that was acknowledged by any of them is there. NOTES_TEST_PROCESS_KILLS says how often.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFile } from '../../../src/storage/check.ts';
import { stop } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { between, createLedger, writeOnce } from '../../support/ledger.ts';
import { startProcesses } from '../../support/processes.ts';
import { until } from '../../support/until.ts';

const KILLS = Number(process.env.NOTES_TEST_PROCESS_KILLS ?? 20);
const PROCESSES = 2;
const CLIENTS = 16;

/** How many acknowledged writes a kill comes after, at least and at most. */
const LEAST = 60;
const MOST = 240;

async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    async (answer) => (await answer.text()) !== '' && answer.ok,
    () => false,
  );
}

test(`what was acknowledged is there after ${KILLS} kills of single processes`, async (t) => {
  const path = newFile(t);
  const service = await startProcesses(t, PROCESSES, ['--db', path, '--log-level', 'silent']);
  const ledger = createLedger(() => {});
  let over = false;
  let broken = 0;

  async function keepWriting(name: string): Promise<void> {
    for (let turn = 0; !over; turn += 1) {
      try {
        await writeOnce(service.url, ledger, name, turn);
      } catch (error) {
        // The connection broke; anything else is a finding.
        assert.ok(error instanceof TypeError, error as Error);
        broken += 1;
        await nextTurn();
      }
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => keepWriting(`client ${client}`)));
  for (let kill = 0; kill < KILLS; kill += 1) {
    const enough = ledger.acknowledged() + between(LEAST, MOST);
    await Promise.race([until(() => ledger.acknowledged() >= enough), clients]);
    const serving = service.serving();
    const victim = serving[between(0, serving.length - 1)];
    if (victim !== undefined) process.kill(victim, 'SIGKILL');
    await until(() => victim === undefined || !service.serving().includes(victim));
    await until(() => service.serving().length === PROCESSES);
  }
  over = true;
  await clients;
  // The last of them may still be starting, and connections to those before them may still be taken for good.
  await until(() => isHealthy(service.url));
  await ledger.verify(service.url, 'all');
  assert.equal((await stop(service)).status, 0);
  assert.deepEqual(await checkFile(path), []);

  const { done, undone } = ledger.inDoubt();
  t.diagnostic(`${KILLS} kills, ${ledger.acknowledged()} acknowledged writes, all there; ${broken} connections broken`);
  t.diagnostic(`${done + undone} writes without an answer: ${done} wholly there, ${undone} not at all`);
});
