// Readers that know what has been acknowledged get nothing older, while clients and other programs
// write the same file, and whatever else happens to the file and the processes of the service.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { BUSY_PRAGMA } from '../../src/storage/sqlite/pragmas.ts';
import { stop } from '../support/command.ts';
import { openOther } from '../support/databases.ts';
import { parseExposition, sampleOf } from '../support/exposition.ts';
import {
  checkpoint,
  killBigWriter,
  killProcess,
  moveAway,
  restoreInVain,
  tearHeader,
} from '../support/foreign-events.ts';
import { request } from '../support/http.ts';
import { countReads, countWrites, play, readsOf, startGame } from '../support/ledger-game.ts';
import { assertUnavailable } from '../support/storage-faults.ts';
import { until } from '../support/until.ts';

const QUOTAS = { clients: 5_000, program: 20_000 };

test('memory: no answer is older than what was acknowledged before', async (t) => {
  const game = await startGame(t, { readers: 16, clients: 4 });
  const { path, service, ledger, program } = game;
  const { url } = service;
  const other = await openOther(t, path);
  await other.execute(BUSY_PRAGMA);
  const kills: boolean[] = [];
  const kill = async () => kills.push(await killBigWriter(t, path, ledger));
  const away = async () => {
    const enough = countWrites(game, 'refusals') + 10;
    await until(() => countWrites(game, 'refusals') >= enough);
    await readsOf(game, 500);
  };
  const events = [
    ...['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'].flatMap((mode) => [
      () => checkpoint(other, mode),
      () => tearHeader(path),
      kill,
    ]),
    () => other.execute('VACUUM'),
    () => restoreInVain(t, path),
    () => moveAway(url, path, away),
    () => checkpoint(other, 'TRUNCATE'),
    () => killProcess(service),
    kill,
    () => other.execute('VACUUM'),
    () => checkpoint(other, 'RESTART'),
  ];
  await play(game, QUOTAS, events);

  const families = parseExposition((await request(url, 'GET', '/metrics')).text);
  const hits = sampleOf(families, 'notes_cache_lookups_total', { result: 'hit' });
  const [reads, known] = [countReads(game, 'reads'), countReads(game, 'notModified')];
  const [commits, refusals] = [countWrites(game, 'commits'), countWrites(game, 'refusals')];
  const inCommit = kills.filter(Boolean).length;
  t.diagnostic(`${commits} commits over HTTP, ${program.commits} through SQLite`);
  t.diagnostic(`${refusals} writes refused`);
  t.diagnostic(`${reads} reads, ${hits} of them from memory; ${known} were 304`);
  t.diagnostic(`${events.length} events; ${inCommit} of ${kills.length} kills in mid-commit`);
  assert.ok(hits > 1_000, 'the memory was hardly used');
  assert.equal((await stop(service)).status, 0);
  assert.deepEqual(await checkFile(path), []);
});

test('memory: nothing is older when the log was deleted', async (t) => {
  const game = await startGame(t, { readers: 1, clients: 1 });
  const { path, service, program, endProgram } = game;
  const [reader, client] = [game.readers[0], game.clients[0]];
  assert.ok(reader && client);
  const read = async (count: number) => {
    for (let left = count; left > 0; left -= 1) await reader.read();
  };
  await program.write(50);
  await client.write(50);
  await read(50);
  // Whoever still had the file open would keep the log in use.
  await endProgram();
  rmSync(`${path}-wal`);
  await client.write(20);
  assert.deepEqual(client.counts, { commits: 50, refusals: 20 });
  const json = { title: 'a', body: 'b' };
  assertUnavailable(await request(service.url, 'PUT', '/notes/6', { json }));
  await read(200);
  assert.equal((await stop(service)).status, 0);
  assert.deepEqual(await checkFile(path), []);
});
