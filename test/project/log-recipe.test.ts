// The recipe of the guide to scripting that keeps a log, on a service that answers late or not.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../support/engine.ts';
import { startListener } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { addressed, codeBlocks, guide, inShell, sectionOf } from './documents.ts';

const [script = ''] = codeBlocks(sectionOf(guide('scripting'), 'Keep a log'), 'sh');
const QUICK = script.replace('1 2 4 8 16 0', '0 0 0');

/** What happens to a request on its way: a status of a proxy, no connection, or a lost answer. */
type Fault = 'none' | 'cut' | 'lost' | 'status 429' | 'status 502' | 'status 503';

/** A service behind a network whose `faults` meet the next requests, and the script there. */
async function startLog(t: TestContext, shell = 'sh') {
  const { url, request } = await startService(t);
  const faults: Fault[] = [];
  const network = await startListener(t, async (incoming, answer) => {
    const fault = faults.shift() ?? 'none';
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = '', headers } = incoming;
    if (fault === 'cut') return void incoming.socket.destroy();
    if (fault.startsWith('status')) return void answer.writeHead(Number(fault.slice(7))).end();
    const body = method === 'GET' ? null : Buffer.concat(chunks);
    const { 'content-type': type = '', 'idempotency-key': key = '', accept = '' } = headers;
    const sent = { ...(body && { 'content-type': type }), accept };
    const response = await fetch(url + incoming.url, {
      method,
      body,
      headers: { ...sent, ...(key && { 'idempotency-key': String(key) }) },
    });
    const text = await response.text();
    if (fault === 'lost') incoming.socket.destroy();
    else answer.writeHead(response.status).end(text);
  });
  const home = temporaryFolder(t);
  const folder = join(home, '.log-line');
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
  const commands = addressed(QUICK, network);
  const log = async (...words: string[]) => {
    const run = inShell(shell, commands, { env }, 'log-line', ...words);
    const { code = 0, stdout, stderr } = await run.catch((error) => error);
    return [code, stdout + stderr];
  };
  const waiting = () => readdirSync(folder).filter((name) => name !== 'refused');
  /** Resolves with the text of all days. */
  const stored = async () => {
    const { items } = (await request('GET', '/notes?named=true&include=name')).json;
    for (const { name } of items) assert.match(name, /^log\.\d{4}-\d\d-\d\d$/);
    const bodies = items.map(({ body }: { body: string }) => body).join('');
    return bodies.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME');
  };
  return { faults, folder, home, log, request, stored, waiting };
}

for (const shell of ['sh', 'bash']) {
  test(`log: what a repetition mends in ${shell} is there once, without a word`, async (t) => {
    const { faults, home, log, stored } = await startLog(t, shell);
    const silent = [0, ''];
    assert.deepEqual(await log('312', 'files'), silent);
    for (const fault of ['cut', 'lost', 'status 429', 'status 502', 'status 503'] as const) {
      faults.push(fault, fault);
      assert.deepEqual(await log(fault, '\\n%s\n-'), silent);
      assert.deepEqual(faults, []);
    }
    const lines = ['cut', 'lost', 'status 429', 'status 502', 'status 503'];
    const wanted = lines.map((line) => `TIME ${line} \\n%s -\n`);
    assert.equal(await stored(), ['TIME 312 files\n', ...wanted].join(''));
    assert.deepEqual(readdirSync(home), ['.log-line']);
  });
}

test('log: lines that could not be sent go first the next time, in order', async (t) => {
  const { faults, log, stored, waiting } = await startLog(t);
  faults.push('status 503', 'cut', 'lost', 'status 429', 'status 429', 'status 429');
  const [code, printed] = await log('one');
  assert.equal(code, 1);
  assert.match(String(printed), /^log-line: 000, not sent: \S+ one\ncurl: \(52\) .*\n$/);
  assert.equal((await log('two'))[0], 1);
  assert.equal(waiting().length, 2);
  assert.deepEqual(await log('three'), [0, '']);
  assert.equal(await stored(), 'TIME one\nTIME two\nTIME three\n');
  assert.deepEqual(waiting(), []);
});

test('log: a line whose key is forgotten is sent only if it is not there', async (t) => {
  const { faults, folder, log, request, stored, waiting } = await startLog(t);
  faults.push('cut', 'cut', 'lost', 'cut', 'cut', 'cut', 'cut', 'cut', 'cut');
  for (const word of ['arrived', 'lost', 'young']) assert.equal((await log(word))[0], 1);
  const old = new Date(Date.now() - 25 * 3_600_000);
  for (const name of waiting()) {
    if (readFileSync(join(folder, name), 'utf8').includes('young')) continue;
    utimesSync(join(folder, name), old, old);
    // As another name is another key, only the text can tell that the line is there.
    renameSync(join(folder, name), join(folder, `${name}x`));
  }
  const { id } = (await request('GET', '/notes')).json.items[0];
  assert.deepEqual(await log('new'), [0, '']);
  assert.equal(await stored(), 'TIME arrived\nTIME lost\nTIME young\nTIME new\n');
  assert.equal((await request('GET', '/notes')).json.items[0].id, id);
});

test('log: a refused line is named with the reason, and holds up no other', async (t) => {
  const { faults, folder, log, request, stored } = await startLog(t);
  const day = '2020-01-31';
  await request('PUT', `/named/log.${day}`, { json: { title: 'Log', body: 'x'.repeat(99_999) } });
  assert.deepEqual(await log('a'), [0, '']);
  const full = `${day}T00:00:00Z.0000001.x`;
  writeFileSync(join(folder, full), 'One line too many\n');
  writeFileSync(join(folder, `${day}T00:00:01Z.0000001.y`), '\xff', 'latin1');
  const [code, printed] = await log('b');
  assert.equal(code, 1);
  const [first, why, second, ...others] = String(printed).split('\n');
  assert.equal(first, 'log-line: 422, not sent: One line too many');
  assert.match(why ?? '', /^[^{]*100,?000 characters[^}]*$/);
  assert.match(second ?? '', /^log-line: 400, not sent: /);
  assert.equal(others.length, 2);
  assert.equal(readdirSync(join(folder, 'refused')).length, 2);
  assert.equal(readFileSync(join(folder, 'refused', full), 'utf8'), 'One line too many\n');
  // Each was asked for once: the fault meets the next line.
  faults.push('lost');
  assert.deepEqual(await log('c'), [0, '']);
  assert.match(await stored(), /^x+TIME a\nTIME b\nTIME c\n$/);
});
