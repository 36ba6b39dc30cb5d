// W1: a backup takes the place of a live file, and the service is stopped or killed.
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { backup } from '../../../src/commands/backup.ts';
import { checkFile } from '../../../src/commands/check.ts';
import { startCommand, stop } from '../../support/command.ts';
import type { Ends } from '../../support/engine.ts';
import { request } from '../../support/http.ts';

const NOTES = 10;

/** How many backups took the place of a file, and how many of them were served whole later. */
export interface ReplacedFiles {
  readonly backups: number;
  readonly intact: number;
  /** Writes that were acknowledged although the file was another one. */
  readonly lostWrites: number;
}

/** Replaces and overwrites live files before a stop, before a kill, and after a kill. */
export async function replaceFiles(t: Ends): Promise<ReplacedFiles> {
  const figures = { backups: 0, intact: 0, lostWrites: 0 };
  for (const replace of [renameSync, copyFileSync])
    for (const end of ['SIGTERM', 'SIGKILL', 'SIGKILL first'] as const) {
      const { isIntact, lostWrites } = await replaceFile(t, replace, end);
      figures.backups += 1;
      figures.intact += isIntact ? 1 : 0;
      figures.lostWrites += lostWrites;
    }
  return figures;
}

async function replaceFile(
  t: Ends,
  replace: (from: string, to: string) => void,
  end: 'SIGTERM' | 'SIGKILL' | 'SIGKILL first',
): Promise<{ isIntact: boolean; lostWrites: number }> {
  const args = ['--port', '0', '--db', 'notes.db', '--log-level', 'error'];
  const command = startCommand(t, args);
  const url = await command.ready();
  const [db, saved] = [join(command.folder, 'notes.db'), join(command.folder, 'backup.db')];
  const create = () => request(url, 'POST', '/notes', { json: { title: 'a', body: 'b' } });
  for (let count = 0; count < NOTES; count += 1) await create();
  await backup(db, saved, { isTerminal: false, write() {} });
  for (let count = 0; count < NOTES; count += 1) await create();
  if (end === 'SIGKILL first') await stop(command, 'SIGKILL');
  replace(saved, db);
  const lostWrites = end !== 'SIGKILL first' && (await create()).status === 201 ? 1 : 0;
  await stop(command, end === 'SIGTERM' ? end : 'SIGKILL');

  const next = startCommand(t, args, { folder: command.folder });
  const { json } = await request(await next.ready(), 'GET', '/notes');
  await stop(next);
  const isSound = (await checkFile(db)).length === 0;
  return { isIntact: isSound && json.total === NOTES, lostWrites };
}
