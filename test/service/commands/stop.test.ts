// How the command ends: by signals, and by errors that nobody catches.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { preload, startCommand, stop } from '../../support/command.ts';
import { newFile, writeMigrated } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { converse, refusal, requestText } from '../../support/raw.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const BODY = JSON.stringify(NOTE);

/** Starts the command and sends half a request, which stays in flight until `finish` is called. */
async function startWithHeldRequest(t: TestContext) {
  const command = startCommand(t, ['--port', '0'], { coverage: true });
  const service = { port: Number(new URL(await command.ready()).port) };
  const headers = [`content-length: ${BODY.length}`, 'expect: 100-continue'];
  const held = await converse(service, requestText('POST /notes', headers));
  // From here on the service has the request and waits for its body.
  assert.equal((await held.answer()).status, 100);
  held.socket.write(BODY.slice(0, 5));
  return { command, service, held, finish: () => held.socket.write(BODY.slice(5)) };
}

test('stop: lets the request in flight finish', async (t) => {
  const { command, service, held, finish } = await startWithHeldRequest(t);
  command.process.kill('SIGTERM');
  await command.says('"stopping","signal":"SIGTERM"');
  await refusal(service);
  finish();
  const { status, headers } = await held.answer();
  assert.deepEqual([status, headers.connection], [201, 'close']);
  await held.closed();
  const ending = await command.ended;
  assert.deepEqual([ending.status, ending.signal], [0, null]);
  assert.deepEqual(readdirSync(command.folder), ['notes.db']);

  const again = await startService(t, { db: join(command.folder, 'notes.db') });
  assert.deepEqual((await again.request('GET', '/notes/1')).json, expected({ id: 1, ...NOTE }));
});

test('stop: a second signal ends it at once', async (t) => {
  const { command } = await startWithHeldRequest(t);
  command.process.kill('SIGINT');
  await command.says('"stopping","signal":"SIGINT"');
  // Without the second signal it would wait for the request, and end with status 0.
  const { status, signal } = await stop(command, 'SIGTERM');
  assert.deepEqual({ status, signal }, { status: null, signal: 'SIGTERM' });
});

/** Sends a signal once main.ts, after the launcher, handles it. */
const early = (signal: string) =>
  preload(`
  let handlers = 0;
  process.on('newListener', (name) => {
    if (name === '${signal}' && (handlers += 1) === 2)
      setImmediate(process.kill, process.pid, '${signal}');
  });`);

for (const signal of ['SIGTERM', 'SIGINT']) {
  test(`stop: ${signal} during the start ends it before it opens the database`, async (t) => {
    const command = startCommand(t, ['--port', '0'], { node: early(signal) });
    const { status, stdout, stderr } = await command.ended;
    assert.deepEqual([status, stdout], [0, ''], stderr);
    assert.equal(JSON.parse(stderr).message, 'stopping');
    assert.deepEqual(readdirSync(command.folder), []);
  });

  test(`stop: ${signal} ends an import that waits for its input`, async (t) => {
    const parts = { node: early(signal), holdsInput: true };
    const { status, signal: by, stderr } = await startCommand(t, ['import'], parts).ended;
    assert.deepEqual({ status, by, stderr }, { status: null, by: signal, stderr: '' });
  });
}

test('stop: a start that ends after a signal serves nobody and closes its database', async (t) => {
  const node = preload(`
    import net from 'node:net';
    const { listen } = net.Server.prototype;
    net.Server.prototype.listen = function (...args) {
      process.once('SIGTERM', () => listen.apply(this, args));
      setImmediate(process.kill, process.pid, 'SIGTERM');
      return this;
    };`);
  const command = startCommand(t, ['--port', '0'], { node });
  const { status, stdout, stderr } = await command.ended;
  assert.deepEqual([status, stdout], [0, ''], stderr);
  assert.doesNotMatch(stderr, /"listening"/);
  assert.deepEqual(readdirSync(command.folder), ['notes.db']);
});

test('stop: a signal removes the file that an export has not finished', async (t) => {
  const db = newFile(t);
  await writeMigrated(db);
  const folder = temporaryFolder(t);
  // The file is there when the export is about to write it.
  const node = preload(`
    import fs from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    fs.writeFile = () => new Promise(() => setInterval(process.kill, 1, process.pid, 'SIGTERM'));
    syncBuiltinESMExports();`);
  const command = startCommand(t, ['export', 'e.jsonl', '--db', db], { node, folder });
  assert.equal((await command.ended).signal, 'SIGTERM');
  assert.deepEqual(readdirSync(folder), []);
});

for (const [what, fault] of Object.entries({ thrown: 'throw', rejected: 'Promise.reject' })) {
  test(`stop: an uncaught ${what} error is logged, status 1`, async (t) => {
    const script = `process.on('SIGUSR2', () => { ${fault}(new Error('nobody caught this')) })`;
    const node = preload(script);
    const command = startCommand(t, ['--port', '0', '--log-level', 'error'], { node });
    await command.ready();
    const { status, stderr } = await stop(command, 'SIGUSR2');
    assert.equal(status, 1);
    const { level, message, error } = JSON.parse(stderr);
    assert.deepEqual([level, message, error.message], ['error', 'uncaught', 'nobody caught this']);
    assert.match(error.stack, /at process\.<anonymous>/);
  });
}
