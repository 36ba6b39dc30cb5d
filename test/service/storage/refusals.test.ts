// The system refuses a running service its file: I/O errors, a disk that does not confirm, and a
// file that becomes read-only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { type Command, type CommandParts, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { type Answer, request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NOTE } from '../../support/storage-faults.ts';
import { unprivileged } from '../../support/unprivileged.ts';

const LONG = { title: 'lost', body: 'x'.repeat(100_000) };

/** Above it, writes fail with EFBIG, which SQLite reports as SQLITE_IOERR. */
function limitFileSize({ process }: Command, bytes: number | 'unlimited'): boolean {
  return (
    spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`]).status === 0
  );
}

async function start(test: TestContext, db: string, parts?: CommandParts) {
  const command = startCommand(test, ['--port', '0', '--log-level', 'error', '--db', db], parts);
  return { command, url: await command.ready() };
}

const statuses = async (answers: readonly Promise<Answer>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

/** The log has a header of 32 bytes and frames of 4,120 bytes. */
const LIMITS = [
  ['at the first byte', 0, 'goes on'],
  ['in the middle of a change', 32 + 4_120 * 40 + 100, 'is killed'],
] as const;

for (const [where, bytes, ending] of LIMITS)
  test(`refused I/O: writes fail ${where}, the service ${ending}`, async (t) => {
    const db = join(temporaryFolder(t), 'notes.db');
    const first = await start(t, db);
    assert.equal((await request(first.url, 'POST', '/notes', { json: NOTE })).status, 201);
    if (!limitFileSize(first.command, bytes)) return skipLoudly(t, 'prlimit cannot be used here');

    const ofManyPages = Array.from({ length: 5 }, () =>
      request(first.url, 'POST', '/notes', { json: LONG }),
    );
    const others = [
      request(first.url, 'PUT', '/notes/1', { json: LONG }),
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
      request(url, 'POST', '/notes', { json: LONG }),
      request(url, 'PUT', '/notes/1', { json: LONG }),
      request(url, 'POST', '/tags', { json: { name: 'a' } }),
    ];
    assert.deepEqual(await statuses(longer), [201, 200, 201]);
    if (next) await next.close();
    else assert.equal((await stop(first.command)).status, 0);
    assert.deepEqual(await checkFile(db), []);
  });

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

test('refused I/O: writes that are not durable are gone after a crash', async (t) => {
  const folder = temporaryFolder(t);
  const [library, fault, db] = ['undurable.so', 'fault', 'notes.db'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const compiler = ['-shared', '-fPIC', '-x', 'c', '-', '-o', library, '-ldl'];
  if (spawnSync('cc', compiler, { input: UNDURABLE }).status !== 0)
    return skipLoudly(t, 'there is no C compiler');
  const env = { LD_PRELOAD: library, FAULT: fault };

  const { command, url } = await start(t, db, { env });
  await request(url, 'POST', '/tags', { json: { name: 'kept' } });
  const stored = async (from: string) => [
    (await request(from, 'GET', '/tags')).text,
    (await request(from, 'GET', '/notes')).text,
  ];
  const before = await stored(url);
  writeFileSync(fault, '');
  const refused = await statuses([
    request(url, 'PUT', '/tags/1', { json: { name: 'refused' } }),
    request(url, 'POST', '/notes', { json: NOTE }),
    request(url, 'POST', '/notes', { json: LONG }),
  ]);
  assert.deepEqual(new Set(refused), new Set([503]));
  await stop(command, 'SIGKILL');
  rmSync(fault);

  const next = await startService(t, { db });
  assert.deepEqual(await stored(next.url), before);
  assert.equal((await next.request('POST', '/notes', { json: NOTE })).status, 201);
  await next.close();
  assert.deepEqual(await checkFile(db), []);
});

test('refused I/O: made read-only while running, nothing is lost', async (t) => {
  const user = unprivileged(t);
  if (!user) return skipLoudly(t, 'no user is available whom file modes bind');
  const db = join(user.folder, 'data', 'notes.db');
  mkdirSync(dirname(db));
  chmodSync(dirname(db), 0o777);
  const { command, url } = await start(t, db, user);
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  for (const companion of ['', '-wal', '-shm']) chmodSync(`${db}${companion}`, 0o444);
  chmodSync(dirname(db), 0o555);

  // A process may go on writing to a file that it has open.
  assert.deepEqual(
    await statuses([
      request(url, 'POST', '/notes', { json: NOTE }),
      request(url, 'PUT', '/notes/1', { json: NOTE }),
    ]),
    [201, 200],
  );
  const { text } = await request(url, 'GET', '/notes');
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });

  chmodSync(dirname(db), 0o777);
  for (const companion of ['', '-wal', '-shm']) chmodSync(`${db}${companion}`, 0o666);
  const next = await startService(t, { db });
  assert.equal((await next.request('GET', '/notes')).text, text);
  await next.close();
  assert.deepEqual(await checkFile(db), []);
});
