// Causes real I/O errors in a service process: a file size limit (EFBIG, which SQLite reports as
// SQLITE_IOERR), and a disk on which fsync fails.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { type Command, type CommandParts, startCommand, stop } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { type Answer, request } from './http.ts';
import { startService } from './service.ts';
import { skipLoudly } from './skip.ts';
import { NOTE } from './storage-faults.ts';

function limitFileSize({ process }: Command, bytes: number | 'unlimited'): boolean {
  return (
    spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`]).status === 0
  );
}

export async function startLogging(
  test: TestContext,
  db: string,
  level: string,
  parts?: CommandParts,
) {
  const command = startCommand(test, ['--port', '0', '--log-level', level, '--db', db], parts);
  return { command, url: await command.ready() };
}

export const statuses = async (answers: readonly Promise<Answer>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

/** The log has a header of 32 bytes and frames of 4,120 bytes. */
export const LIMITS = {
  'at the first byte': 0,
  'in the middle of a change': 32 + 4_120 * 40 + 100,
};

/** Asserts that writes beyond `bytes` of a file are 503 without effect, and work afterwards. */
export async function failWrites(t: TestContext, bytes: number, ending: 'goes on' | 'is killed') {
  const db = join(temporaryFolder(t), 'notes.db');
  const first = await startLogging(t, db, 'error');
  assert.equal((await request(first.url, 'POST', '/notes', { json: NOTE })).status, 201);
  if (!limitFileSize(first.command, bytes)) return skipLoudly(t, 'prlimit cannot be used here');

  const long = { title: 'lost', body: 'x'.repeat(100_000) };
  const ofManyPages = Array.from({ length: 5 }, () =>
    request(first.url, 'POST', '/notes', { json: long }),
  );
  const others = [
    request(first.url, 'PUT', '/notes/1', { json: long }),
    request(first.url, 'POST', '/notes/1/comments', { json: { body: 'x' } }),
  ];
  const refused = await statuses([...ofManyPages, ...others]);
  assert.ok(refused.filter((status) => status === 503).length >= 5, String(refused));
  assert.equal((await request(first.url, 'GET', '/health')).status, 200);
  await first.command.says('SQLITE_IOERR');
  const listed = (await request(first.url, 'GET', '/notes?limit=100')).text;
  assert.equal(
    JSON.parse(listed).total,
    1 + refused.slice(0, 5).filter((status) => status === 201).length,
  );

  if (ending === 'is killed') await stop(first.command, 'SIGKILL');
  else limitFileSize(first.command, 'unlimited');
  const next = ending === 'is killed' ? await startService(t, { db }) : undefined;
  const { url } = next ?? first;
  assert.equal((await request(url, 'GET', '/notes?limit=100')).text, listed);
  const longer = [
    request(url, 'POST', '/notes', { json: long }),
    request(url, 'PUT', '/notes/1', { json: long }),
    request(url, 'POST', '/tags', { json: { name: 'a' } }),
  ];
  assert.deepEqual(await statuses(longer), [201, 200, 201]);
  if (next) await next.close();
  else assert.equal((await stop(first.command)).status, 0);
  assert.deepEqual(await checkFile(db), []);
}

/** While the file named by FAULT exists, fsync and fdatasync of the write-ahead log fail. */
const UNDURABLE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fails(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 4 && !memcmp(path + length - 4, "-wal", 4) && access(getenv("FAULT"), F_OK) == 0;
}
#define DURABLE(name) \
  int name(int fd) { \
    if (fails(fd)) { errno = EIO; return -1; } \
    return ((int (*)(int)) dlsym(RTLD_NEXT, #name))(fd); \
  }
DURABLE(fsync)
DURABLE(fdatasync)
`;

/** A request that writes. */
export type Write = readonly [method: string, path: string, json?: object];

/** Asserts that `writes` that cannot be made durable are 503 and undone by a crash. */
export async function failSync(t: TestContext, writes: readonly Write[]): Promise<void> {
  const folder = temporaryFolder(t);
  const [library, fault, db] = ['undurable.so', 'fault', 'notes.db'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const compiler = ['-shared', '-fPIC', '-x', 'c', '-', '-o', library, '-ldl'];
  if (spawnSync('cc', compiler, { input: UNDURABLE }).status !== 0)
    return skipLoudly(t, 'there is no C compiler');
  const env = { LD_PRELOAD: library, FAULT: fault };

  const { command, url } = await startLogging(t, db, 'error', { env });
  await request(url, 'POST', '/tags', { json: { name: 'kept' } });
  const stored = async (from: string) => [
    (await request(from, 'GET', '/tags')).text,
    (await request(from, 'GET', '/notes')).text,
  ];
  const before = await stored(url);
  writeFileSync(fault, '');
  const refused = await statuses(
    writes.map(([method, path, json]) => request(url, method, path, { json })),
  );
  assert.deepEqual(new Set(refused), new Set([503]));
  await stop(command, 'SIGKILL');
  rmSync(fault);

  const next = await startService(t, { db });
  assert.deepEqual(await stored(next.url), before);
  assert.equal((await next.request('POST', '/notes', { json: NOTE })).status, 201);
  await next.close();
  assert.deepEqual(await checkFile(db), []);
}
