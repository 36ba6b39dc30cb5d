// The clients that the guide to following changes shows, as their users run them: killed and
// started again, while the service is stopped and started, with an expired cursor and with keys.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../support/engine.ts';
import { lastingPort } from '../../support/ports.ts';
import { type Service, startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { root } from '../../support/sources.ts';
import { until } from '../../support/until.ts';

/** The scripts, each with the command that runs it and the programs that have to be installed. */
const CLIENTS = [
  { command: 'sh', script: 'changes.sh', needs: ['curl', 'jq'] },
  { command: process.execPath, script: 'changes.mjs', needs: [process.execPath] },
  { command: 'python3', script: 'changes.py', needs: ['python3'] },
].map((client) => ({
  ...client,
  missing: client.needs.filter((program) => spawnSync(program, ['--version']).status !== 0),
}));

/** What a client prints when it has no cursor, before it follows the changes. */
const START = 'Here, read all records.';

const NOTE = { json: { title: 'a', body: 'b' } };
const KEY = 'a-key-for-scripts';

/** A running client. */
interface Client {
  readonly process: ChildProcess;
  /** The lines that it has printed completely. */
  lines(): string[];
  errors(): string;
  /** Kills it, and the programs that it has started. */
  kill(): void;
}

/** A folder in which clients run and keep their cursor. */
interface Place {
  readonly folder: string;
  start({ url }: Pick<Service, 'url'>, key?: string): Client;
}

/** Returns a new place for clients, which are killed at the end of the test. */
function placeFor(t: TestContext, { command, script }: (typeof CLIENTS)[number]): Place {
  const path = fileURLToPath(new URL(`test/service/clients/${script}`, root));
  const clients: Client[] = [];
  // This hook must come before the one that removes the folder.
  t.after(() => {
    for (const { kill } of clients) kill();
  });
  const folder = temporaryFolder(t);
  return {
    folder,
    start({ url }, key = '') {
      const env = { NOTES_URL: url, NOTES_KEY: key, NODE_OPTIONS: '', NODE_V8_COVERAGE: '' };
      // Of a file, nothing is lost when the client is killed.
      const [output = '', errors = ''] = ['output', 'errors'].map((name) =>
        join(folder, `${name}-${clients.length}`),
      );
      const files = [openSync(output, 'w'), openSync(errors, 'w')] as const;
      const child = spawn(command, [path], {
        cwd: folder,
        detached: true,
        env: { ...process.env, ...env },
        stdio: ['ignore', ...files],
      });
      for (const file of files) closeSync(file);
      const client: Client = {
        process: child,
        lines: () => readFileSync(output, 'utf8').split('\n').slice(0, -1),
        errors: () => readFileSync(errors, 'utf8'),
        kill: () => killGroup(child),
      };
      clients.push(client);
      return client;
    },
  };
}

/** Kills a process and those that it has started, unless it has ended. */
function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

/** Creates `count` notes, one after another. */
async function create({ request }: Service, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1)
    assert.equal((await request('POST', '/notes', NOTE)).status, 201);
}

/** Returns the ids of the notes whose creation a client has printed. */
function seenBy(client: Client): number[] {
  const changes = client.lines().filter((line) => line !== START);
  return changes.map((line) => {
    const { type, note_id: id } = JSON.parse(line);
    assert.equal(type, 'note.created');
    return id;
  });
}

/** Resolves when a client has seen this note. */
function untilSeen(client: Client, id: number): Promise<void> {
  return until(() => seenBy(client).at(-1) === id);
}

/** Asserts that each client has seen all notes in order after those that the last one has seen. */
function assertNoGap(clients: readonly Client[], count: number): void {
  let last = 0;
  for (const client of clients) {
    const seen = seenBy(client);
    const [first = 0] = seen;
    assert.deepEqual(
      seen,
      seen.map((_, index) => first + index),
    );
    // What was handled when the client was killed may be handled again.
    assert.ok(first <= last + 1, `${first} after ${last}`);
    last = seen.at(-1) ?? last;
  }
  assert.equal(last, count);
}

// The clients wait for a second before they connect again, so they run side by side.
describe('clients of changes', { concurrency: true }, () => {
  for (const client of CLIENTS) {
    const { script, missing } = client;
    const reason = `there is no ${missing} here`;

    test(`changes: ${script} misses nothing while it or the service is away`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const place = placeFor(t, client);
      const port = await lastingPort();
      let service = await startService(t, { port });
      const { file: db } = service;
      const first = place.start(service);
      await until(() => first.lines().length > 0);

      const writing = create(service, 300);
      await until(() => seenBy(first).length > 20);
      first.kill();
      await writing;
      const second = place.start(service);
      await create(service, 10);
      await untilSeen(second, 310);

      await service.close();
      service = await startService(t, { db, port });
      await create(service, 10);
      await untilSeen(second, 320);

      await service.close();
      second.kill();
      const third = place.start(service);
      service = await startService(t, { db, port });
      await create(service, 10);
      await untilSeen(third, 330);

      const clients = [first, second, third];
      assertNoGap(clients, 330);
      const starts = clients.flatMap(({ lines }) => lines()).filter((line) => line === START);
      assert.equal(starts.length, 1);
    });

    test(`changes: ${script} starts again if its cursor has expired`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const place = placeFor(t, client);
      const service = await startService(t);
      await create(service, 2);
      writeFileSync(join(place.folder, 'notes-cursor'), '00000000-1');
      const running = place.start(service);
      await until(() => running.lines().length > 0);
      await create(service, 1);
      await untilSeen(running, 3);
      assert.deepEqual(running.lines()[0], START);
      assert.deepEqual(seenBy(running), [3]);
    });

    test(`changes: ${script} sends its key, and fails with a wrong one`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const place = placeFor(t, client);
      const service = await startService(t, { apiKeys: [KEY] });
      const refused = place.start(service, 'another');
      const [status] = await once(refused.process, 'exit');
      assert.equal(status, 1);
      assert.match(refused.errors(), /"detail":"[^"]*key/);
      assert.deepEqual(refused.lines(), []);
      assert.ok(!existsSync(join(place.folder, 'notes-cursor')));

      const running = place.start(service, KEY);
      await until(() => running.lines().length > 0);
      const headers = { authorization: `Bearer ${KEY}` };
      await service.request('POST', '/notes', { ...NOTE, headers });
      await untilSeen(running, 1);
    });

    test(`changes: ${script} asks again after 429 and 503`, async (t) => {
      if (missing.length > 0) return skipLoudly(t, reason);
      const statuses = [429, 503];
      const refusing = createServer((_request, response) => {
        response.writeHead(statuses.shift() ?? 503, { 'retry-after': '1', connection: 'close' });
        response.end();
      });
      const port = await lastingPort();
      await once(refusing.listen(port, '127.0.0.1'), 'listening');
      t.after(() => void refusing.close());
      const url = `http://127.0.0.1:${port}`;
      const running = placeFor(t, client).start({ url });
      await until(() => statuses.length === 0);
      refusing.close();
      await once(refusing, 'close');
      await startService(t, { port });
      await until(() => running.lines().length > 0);
      assert.deepEqual(running.lines(), [START]);
    });
  }
});
