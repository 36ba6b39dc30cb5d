// SIGHUP: from a person it asks for a reload; from a terminal that closes it is the end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER, preload, runCommand, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { converse, post } from '../../support/raw.ts';
import { hasTerminals, SCRIPT } from '../../support/terminal.ts';
import { until } from '../../support/until.ts';

const HANG_UP = `setImmediate(process.kill, process.pid, 'SIGHUP')`;

/** Sends SIGHUP to the process when its launcher reads the package, and at each new listener. */
const EARLY = preload(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { readFileSync } = fs;
  fs.readFileSync = (file, ...others) => {
    if (file instanceof URL) ${HANG_UP};
    return readFileSync(file, ...others);
  };
  syncBuiltinESMExports();
  process.on('newListener', (name) => name === 'SIGHUP' && ${HANG_UP});
`);

test('hangup: without keys it is a line in the log', async (t) => {
  const command = startCommand(t, ['--port', '0'], { node: EARLY });
  const url = await command.ready();
  await command.says('"level":"warn","message":"there is no file of keys to reload"');
  command.process.kill('SIGHUP');
  assert.equal((await request(url, 'GET', '/notes')).status, 200);
  const { status, stderr } = await stop(command);
  assert.equal(status, 0);
  assert.doesNotMatch(stderr, /"error"/);
});

for (const processes of ['1', '2']) {
  const args = ['--port', '0', '--processes', processes];

  test(`hangup: a terminal that closes is a stop, processes: ${processes}`, async (t) => {
    if (!hasTerminals(t)) return;
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'keys'), 'secret-one\n');
    // A shell passes the signal on to its jobs, and the system may send it again.
    const job = `"${process.execPath}" "${LAUNCHER}" ${args.join(' ')} --api-keys-file keys >ready`;
    const passOn = 'for again in 1 2 3 4 5 6 7 8; do kill -HUP $!; sleep 0.01; done';
    const shell = `${job} & trap '${passOn}; >passed' HUP; wait $!; wait $!; echo $? >status`;
    const env = { ...process.env, NODE_V8_COVERAGE: '' };
    const script = spawn(SCRIPT, ['-qfec', shell, '/dev/null'], { cwd: folder, env });
    t.after(() => script.kill('SIGKILL'));
    const textOf = (name: string) => {
      const file = join(folder, name);
      return existsSync(file) ? readFileSync(file, 'utf8') : '';
    };
    await until(() => textOf('ready').endsWith('\n'));
    const url = textOf('ready').trim().split(' ').at(-1) ?? '';
    const headers = { authorization: 'Bearer secret-one' };
    const json = { title: 'a', body: 'b' };
    assert.equal((await request(url, 'POST', '/notes', { json, headers })).status, 201);
    // The stop waits for the rest of this request.
    const port = Number(new URL(url).port);
    const authorization = `authorization: ${headers.authorization}\r\n`;
    const { socket } = await converse({ port }, post(`${authorization}content-length: 24\r\n`));
    assert.equal((await request(url, 'GET', '/notes', { headers })).json.total, 1);
    script.kill('SIGKILL');
    await until(() => existsSync(join(folder, 'passed')));
    socket.destroy();
    await until(() => textOf('status') !== '');
    assert.equal(textOf('status'), '0\n');
    const files = ['keys', 'notes.db', 'passed', 'ready', 'status'];
    assert.deepEqual(readdirSync(folder).sort(), files);
  });
}

test('hangup: during the start, the keys are read again after it', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'keys'), 'secret-one\n');
  const args = ['--port', '0', '--processes', '2', '--api-keys-file', 'keys'];
  const command = startCommand(t, args, { folder, node: EARLY });
  await command.ready();
  await command.says('"keys reloaded"');
  assert.equal((await stop(command)).status, 0);
});

test('hangup: ends a command that is not the service', async (t) => {
  const node = preload(`process.on('removeListener', (name) => name === 'SIGHUP' && ${HANG_UP})`);
  const { signal } = await runCommand(t, ['export'], { node });
  assert.equal(signal, 'SIGHUP');
});
