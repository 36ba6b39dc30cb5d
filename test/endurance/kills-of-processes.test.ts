// Kills one of several processes at a time under load: the others go on serving, another process
// takes the place of the killed one, and every write that any of them acknowledged is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFile } from '../../src/commands/check.ts';
import { stop } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { request } from '../support/http.ts';
import { between, brokenConnection, createLedger, writeOnce } from '../support/ledger.ts';
import { startProcesses } from '../support/processes.ts';
import { until } from '../support/until.ts';

const KILLS = 10;
const PROCESSES = 2;
const CLIENTS = 16;

function isHealthy(url: string): Promise<boolean> {
  return request(url, 'GET', '/health').then(
    ({ status }) => status === 200,
    () => false,
  );
}

test(`processes: acknowledged writes survive ${KILLS} kills of one at a time`, async (t) => {
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
        assert.ok(brokenConnection(error), error as Error);
        broken += 1;
        await nextTurn();
      }
    }
  }

  const clients = Promise.all(
    Array.from({ length: CLIENTS }, (_, client) => keepWriting(`client ${client}`)),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    const enough = ledger.acknowledged() + between(60, 240);
    await Promise.race([until(() => ledger.acknowledged() >= enough), clients]);
    const serving = service.serving();
    const victim = serving[between(0, serving.length - 1)];
    if (victim !== undefined) process.kill(victim, 'SIGKILL');
    await until(() => victim === undefined || !service.serving().includes(victim));
    await until(() => service.serving().length === PROCESSES);
  }
  over = true;
  await clients;
  // The last process may still be starting, and connections to its predecessor may still be
  // accepted.
  await until(() => isHealthy(service.url));
  await ledger.verify(service.url, 'all');
  assert.equal((await stop(service)).status, 0);
  assert.deepEqual(await checkFile(path), []);
  ledger.report(t, KILLS);
  t.diagnostic(`${broken} connections broken`);
});

test('processes: a stop while all of them are being replaced', async (t) => {
  const service = await startProcesses(t, 2);
  const killed = service.serving();
  const ended = killed.map((pid) => service.nextLine((line) => line.ended === pid));
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  await Promise.all(ended);
  assert.equal((await stop(service)).status, 0);
});
