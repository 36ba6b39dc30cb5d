// Older states of the file are brought back as the guide to backups says, by Litestream and as
// copies: no client takes what follows for what it knows.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { codeBlocks, guide, inShell, sectionOf } from '../project/documents.ts';
import { LAUNCHER, startCommand, stop } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { exported } from '../support/in-process-command.ts';
import { skipLoudly } from '../support/skip.ts';
import { until } from '../support/until.ts';

const [replicate = '', restore = ''] = codeBlocks(sectionOf(guide('backups'), 'Litestream'), 'sh');
const NOTES = Array(20).fill('{"title":"a","body":"b"}').join('\n');

/** Each way to copy the file, which resolves with what brings the copy back to `restored.db`. */
const WAYS = {
  async Litestream(t: TestContext, folder: string) {
    const command = replicate.replace('/backup/notes', join(folder, 'replica'));
    const args = command.trim().split(' ').slice(1);
    const program = spawn('litestream', args, { cwd: folder, stdio: 'ignore' });
    const ended = once(program, 'close');
    t.after(() => program.kill('SIGKILL'));
    const [line = ''] = restore.replace('/backup/notes', join(folder, 'replica')).split('\n');
    const bringBack = () => inShell('sh', line, { cwd: folder });
    const copy = join(folder, 'restored.db');
    await until(async () => {
      const isThere = await bringBack().then(
        () => true,
        () => false,
      );
      const [head = ''] = isThere ? (await exported(copy)).split('\n') : [];
      for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true });
      return head.includes('"notes":20,');
    });
    program.kill('SIGKILL');
    await ended;
    return bringBack;
  },

  async 'a copy with its log'(_t: TestContext, folder: string) {
    const copy = join(folder, 'restored.db');
    for (const end of ['', '-wal']) copyFileSync(join(folder, `notes.db${end}`), copy + end);
    return async () => {};
  },
};

for (const [way, makeCopy] of Object.entries(WAYS)) {
  test(`older states: no client takes ${way} for the state that it knows`, async (t) => {
    if (way === 'Litestream' && spawnSync('litestream', ['version']).error)
      return skipLoudly(t, 'there is no litestream here');
    const folder = temporaryFolder(t);
    const start = async (db: string) => {
      const service = startCommand(t, ['--port', '0', '--db', db], { folder });
      const url = await service.ready();
      const headers = { 'content-type': 'application/x-ndjson' };
      const create = async () =>
        assert.equal((await request(url, 'POST', '/notes', { headers, body: NOTES })).status, 201);
      return { service, url, create };
    };
    const first = await start('notes.db');
    await first.create();
    const bringBack = await makeCopy(t, folder);
    await first.create();
    const { next } = (await request(first.url, 'GET', '/changes')).json;
    const { etag = '' } = (await request(first.url, 'GET', '/notes/40')).headers;
    await stop(first.service, 'SIGKILL');
    await bringBack();
    const since = `/changes?since=${next}`;

    // Without `restore`, the client misses what follows.
    const other = temporaryFolder(t);
    cpSync(folder, other, { recursive: true });
    const unmended = await start(join(other, 'restored.db'));
    await unmended.create();
    assert.deepEqual((await request(unmended.url, 'GET', since)).json.items, []);
    await stop(unmended.service);

    const program = `'${process.execPath}' '${LAUNCHER}'`;
    const [, line = ''] = restore.split('\n');
    await inShell('sh', line.replace('bin/notes-server', program), { cwd: folder });
    const { url, create, service } = await start('notes.db');
    assert.equal((await request(url, 'GET', '/notes')).json.total, 20);
    await create();
    assert.equal((await request(url, 'GET', since)).status, 410);
    const headers = { 'if-match': String(etag) };
    assert.equal((await request(url, 'DELETE', '/notes/40', { headers })).status, 412);
    assert.equal((await stop(service)).status, 0);
  });
}
