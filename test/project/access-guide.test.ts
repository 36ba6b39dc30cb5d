// The recipes of the guide to access, carried out one after the other on a service.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { startProcesses } from '../support/processes.ts';
import { addressed, codeBlocks, guide, inShell } from './documents.ts';

/** Runs a block of the guide in a shell. */
async function run(block: string, cwd: string, env: Record<string, string>): Promise<string> {
  const command = addressed(block, env.URL ?? '')
    .replaceAll('bin/notes-server', `'${process.execPath}' '${LAUNCHER}'`)
    // The test must not expire.
    .replaceAll('2027-03-01', '2999-03-01')
    .replaceAll('curl ', 'curl -s ');
  const options = { cwd, env: { PATH: process.env.PATH, ...env } };
  return (await inShell('sh', `set -e\n${command}`, options)).stdout;
}

test('access: the recipes of the guide work', async (t) => {
  const [start = '', reading = '', ask = '', adding = '', removing = '', finding = '', ...others] =
    codeBlocks(guide('access'), 'sh|console');
  assert.ok(finding && others.length === 0);
  const folder = temporaryFolder(t);
  const [create = '', serve = ''] = start.trim().split('\n');
  await run(create, folder, {});
  assert.match(serve, /^bin\/notes-server --host 0\.0\.0\.0 --api-keys-file keys$/);
  assert.equal(statSync(join(folder, 'keys')).mode & 0o077, 0);
  const service = await startProcesses(t, 2, ['--api-keys-file', 'keys'], { folder });
  const env = { PID: String(service.process.pid), URL: service.url };
  const reload = async (block: string) => {
    const reloaded = service.nextLine(({ message }) => message === 'keys reloaded');
    const printed = await run(block, folder, env);
    await reloaded;
    return { key: printed.split(' ')[0] ?? '', printed };
  };
  const send = async (key: string, method: string, path: string, json?: object) => {
    const headers = { authorization: `Bearer ${key}` };
    return (await request(service.url, method, path, { headers, json })).status;
  };
  const [agent = ''] = readFileSync(join(folder, 'keys'), 'utf8').split(' ');

  const dashboard = await reload(reading);
  assert.match(dashboard.printed, / name=dashboard access=read expires=2999-03-01\n$/);
  const [, asking = '', answer = ''] = /^\$ (.*)\n(.*)\n$/.exec(ask) ?? [];
  const shown = await run(asking, folder, { ...env, KEY: dashboard.key });
  assert.equal(shown, answer.replace('2027-03-01', '2999-03-01'));
  assert.equal(await send(dashboard.key, 'POST', '/notes', { title: 'a', body: 'b' }), 403);

  const second = await reload(adding);
  for (let id = 1; id <= 7; id += 1)
    await send(second.key, 'POST', '/notes', { title: 'a', body: 'b' });
  assert.equal(await send(agent, 'POST', '/notes/7/comments', { body: 'c' }), 201);
  assert.equal(await send(agent, 'DELETE', '/notes/7/comments/1'), 204);
  assert.equal(await send(agent, 'PATCH', '/notes/7', { title: 'c' }), 200);
  assert.equal(await send(agent, 'DELETE', '/notes/7'), 204);
  assert.equal(await send(agent, 'PUT', '/named/log', { title: 'a', body: 'b' }), 201);
  assert.equal(await send(agent, 'DELETE', '/named/log'), 204);
  const call = { name: 'delete_note', arguments: { id: 6 } };
  const asked = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  assert.equal(await send(second.key, 'POST', '/mcp', asked), 200);
  await reload(removing);
  assert.equal(await send(agent, 'GET', '/key'), 401);
  for (const { key } of [second, dashboard]) assert.equal(await send(key, 'GET', '/key'), 200);
  assert.equal(statSync(join(folder, 'keys')).mode & 0o077, 0);

  const log = service.lines.map((line) => JSON.stringify(line)).join('\n');
  writeFileSync(join(folder, 'notes.log'), log);
  for (const [id, key, by] of [
    [7, 'agent', { method: 'DELETE', route: '/notes/{note_id}' }],
    [8, 'agent', { method: 'DELETE', route: '/named/{name}' }],
    [6, 'agent-2', { method: 'POST', route: '/mcp', tool: 'delete_note' }],
  ] as const) {
    const found = await run(finding.replace('"note_id":7', `"note_id":${id}`), folder, env);
    const { client, ids, ...line } = JSON.parse(found);
    assert.deepEqual([client, ids], [`key ${key}`, { note_id: id }]);
    for (const [member, value] of Object.entries(by)) assert.equal(line[member], value);
  }
});
