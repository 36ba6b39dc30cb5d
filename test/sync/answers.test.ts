// Answers that are lost, late or not those of the service, and what others do just before them.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { after, test } from 'node:test';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import type { Ends } from '../support/engine.ts';
import { type Passed, startFlakyProxy } from '../support/flaky-proxy.ts';
import {
  type CommandOutput,
  type InProcessParts,
  runInProcess,
} from '../support/in-process-command.ts';
import { setLimits } from '../support/overload.ts';
import { type SyncedFolder, shareService } from '../support/synced-folder.ts';
import { until } from '../support/until.ts';

const start = await shareService({ after });

type Run = (args?: readonly string[], parts?: InProcessParts) => Promise<CommandOutput>;

/** Starts a proxy for requests that change notes; returns how to run the command through it. */
async function startProxy(
  t: Ends,
  { service, folder, prefix }: SyncedFolder,
  pass: (
    forward: () => Promise<Passed | undefined>,
    count: number,
    target: string,
    body: string,
  ) => Promise<Passed | undefined>,
): Promise<Run> {
  let count = 0;
  const url = await startFlakyProxy(
    t,
    () => service.url,
    (forward, method, target, body) => {
      if (method === 'GET') return forward();
      count += 1;
      return pass(forward, count, target, body);
    },
  );
  return (args = [], parts = {}) =>
    runInProcess(['sync', folder, url, '--folder', prefix, ...args], parts);
}

/** Returns the answer of a problem. */
function problem(status: number, detail: string): Passed {
  const headers = { 'content-type': 'application/problem+json', 'retry-after': '2' };
  return { status, headers, bytes: JSON.stringify({ type: 'about:blank', status, detail }) };
}

test('sync: an answer that is lost is no conflict, and nothing is done twice', async (t) => {
  const synced = start(t);
  const run = await startProxy(t, synced, async (forward, count) => {
    const answer = await forward();
    return count % 2 === 0 ? answer : undefined;
  });
  for (const path of ['a.md', 'b.md', 'c.md', 'd.md'])
    synced.write(path, `---\ntags: [x]\n---\n${path}`);
  await run();
  const { id } = await synced.note('c.md');
  synced.write('a.md', '---\ntags: [y]\n---\nchanged');
  synced.remove('b.md');
  renameSync(synced.at('c.md'), synced.at('moved.md'));
  await run();
  await run();
  const files = synced.files();
  assert.deepEqual(Object.keys(files), ['a.md', 'd.md', 'moved.md']);
  assert.deepEqual(await synced.notes(), files);
  assert.deepEqual((await synced.note('a.md')).tags, ['y']);
  assert.equal((await synced.note('moved.md')).id, id);
  assert.equal((await run()).output, '');
});

test('sync: a text whose answer was lost for good is what both sides had', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const run = await startProxy(t, synced, async (forward) => {
    await forward();
    return undefined;
  });
  synced.write('a.md', 'sent');
  synced.write('new.md', 'sent');
  assert.equal((await run()).status, 2);
  assert.equal((await synced.notes())['a.md'], 'sent');
  synced.write('a.md', 'edited');
  synced.write('new.md', 'edited');
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'edited', 'new.md': 'edited' });
  assert.deepEqual(await synced.notes(), synced.files());
});

test('sync: what others write just before a request is kept', async (t) => {
  const synced = start(t);
  const changed = new Set<string>();
  const run = await startProxy(t, synced, async (forward, _, target) => {
    const name = target.replace(/.*\//, '');
    if (name.endsWith('.md') && !changed.has(name)) {
      changed.add(name);
      await synced.put(name, `theirs ${name}`);
    }
    return forward();
  });
  for (const path of ['send.md', 'delete.md', 'move.md']) synced.write(path, path);
  await synced.sync();
  synced.write('send.md', 'mine');
  synced.remove('delete.md');
  renameSync(synced.at('move.md'), synced.at('moved.md'));
  await run();
  await synced.sync();
  const files = synced.files();
  assert.deepEqual(await synced.notes(), files);
  const texts = new Set(Object.values(files));
  for (const text of ['mine', ...['send', 'delete', 'move'].map((name) => `theirs ${name}.md`)])
    assert.ok(texts.has(text), text);
});

test('sync: what others change during a run is noticed by the next one', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  const run = await startProxy(t, synced, async (forward) => {
    await synced.put('b.md', 'theirs');
    await synced.put('new.md', 'theirs');
    await synced.erase('c.md');
    return forward();
  });
  synced.write('a.md', 'mine');
  await run();
  assert.deepEqual(Object.keys(synced.files()), ['a.md', 'b.md', 'c.md']);
  await synced.sync();
  assert.deepEqual(synced.files(), { 'a.md': 'mine', 'b.md': 'theirs', 'new.md': 'theirs' });
});

test('sync: a note that takes the path of one just before its deletion has one path', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  synced.remove('b.md');
  const run = await startProxy(t, synced, async (forward) => {
    await synced.erase('b.md');
    await synced.rename('a.md', 'b.md');
    return forward();
  });
  await run();
  await synced.sync();
  assert.deepEqual(synced.files(), { 'b.md': 'a.md' });
  assert.deepEqual(await synced.notes(), { 'b.md': 'a.md' });
});

test('sync: waits as long as the service asks for', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  const run = await startProxy(t, synced, async (forward, count) => {
    if (count > 6) return forward();
    return problem(count % 2 === 0 ? 429 : 503, 'Later.');
  });
  assert.deepEqual([(await run()).status, await synced.notes()], [0, { 'a.md': 'a' }]);
});

test('sync: a text that a proxy refuses is left, and no other', async (t) => {
  for (const status of [403, 413]) {
    const synced = start(t);
    const headers = { 'content-type': 'text/html' };
    const run = await startProxy(t, synced, async (forward, _count, _target, body) =>
      body.includes('refused') ? { status, headers, bytes: 'Refused' } : forward(),
    );
    for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
    await run();
    synced.write('a.md', 'refused');
    for (const path of ['new.md', 'newer.md', 'c.md']) synced.write(path, `new ${path}`);
    synced.write('newest.md', 'refused');
    const { warnings, ...ran } = await run();
    const why = `a proxy refuses the text with status ${status}`;
    assert.equal(ran.status, 1);
    assert.match(ran.output, /^In step: 5 files \(2 created, 1 sent;/m);
    assert.deepEqual(warnings.split('\n').sort(), [
      '',
      `left a.md: ${why}`,
      `left newest.md: ${why}`,
    ]);
    const { 'newest.md': _, ...others } = synced.files();
    assert.deepEqual(await synced.notes(), { ...others, 'a.md': 'a.md' });
  }
});

test('sync: a service that only refuses is given up', async (t) => {
  setLimits(t, SYNC_TIMES, { overload: 5 });
  const synced = start(t);
  synced.write('a.md', 'a');
  const asked = ['1', '-5', '5000000', 'Infinity', 'Tue, 01 Dec 2026 00:00:00 GMT'];
  let tries = 0;
  const run = await startProxy(t, synced, async (_, count) => {
    tries = count;
    const { headers, ...refusal } = problem(503, 'Later.');
    return { ...refusal, headers: { ...headers, 'retry-after': asked[count - 1] ?? '1' } };
  });
  const { status, warnings } = await run();
  assert.deepEqual([status, warnings], [2, 'notes-server: the service is overloaded\n']);
  assert.ok(tries > 1);
});

test('sync: --follow says once that there is no answer, until there is one', async (t) => {
  const synced = start(t);
  synced.write('a.md', '0');
  let isSilent = true;
  const run = await startProxy(t, synced, async (forward) => (isSilent ? undefined : forward()));
  let warnings = 0;
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const following = run(['--follow'], {
    stop: stopping.signal,
    onWarning(line) {
      assert.match(line, /^no answer from http:\S+: .+; trying again$/);
      warnings += 1;
      isSilent = false;
    },
  });
  await until(async () => (await synced.notes())['a.md'] === '0');
  isSilent = true;
  synced.write('a.md', '1');
  await until(async () => (await synced.notes())['a.md'] === '1');
  stopping.abort();
  assert.equal((await following).status, 0);
  assert.equal(warnings, 2);
});

test('sync: without an answer after five tries, nothing is done', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  let tries = 0;
  const run = await startProxy(t, synced, async (_, count) => {
    tries = count;
    return undefined;
  });
  const { status, warnings } = await run();
  assert.equal(status, 2);
  assert.match(warnings, /^notes-server: no answer from http:\/\/127\.0\.0\.1:\d+: /);
  assert.equal(tries, 5);
});

test('sync: a run that broke off says what it has done, and what is left', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, `new ${path}`);
  const run = await startProxy(t, synced, async (forward, count) =>
    count === 1 ? forward() : undefined,
  );
  const { status, output, warnings } = await run();
  assert.equal(status, 1);
  assert.match(output, /^send \w\.md\n$/);
  assert.match(warnings, /^left the rest: no answer from [^\n]+\n$/);
});

test('sync: a key that only reads can pull, and is refused otherwise', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  const run = await startProxy(t, synced, async () => problem(403, 'Only reads.'));
  const refused = await run();
  assert.deepEqual([refused.status, refused.warnings], [2, 'notes-server: Only reads.\n']);
  await synced.put('b.md', 'b');
  assert.equal((await run(['--pull'])).status, 0);
  assert.deepEqual(synced.files(), { 'a.md': 'a', 'b.md': 'b' });
});

test('sync: what another server says that it has done counts as not done', async (t) => {
  const answers: Passed[] = [
    { status: 200, headers: { 'content-type': 'text/html' }, bytes: 'Please log in' },
    { status: 200, headers: { 'content-type': 'application/json' }, bytes: '{}' },
    {
      status: 200,
      headers: { 'content-type': 'application/json', etag: '"other-1"' },
      bytes: '{}',
    },
    { status: 201, headers: { 'content-type': 'application/json' }, bytes: '{}' },
    { status: 202, headers: {}, bytes: '' },
  ];
  for (const answer of answers) {
    const synced = start(t);
    for (const path of ['send.md', 'delete.md']) synced.write(path, path);
    await synced.sync();
    const run = await startProxy(t, synced, async () => answer);
    const assertRefused = async () => {
      const { status, output, warnings } = await run();
      assert.deepEqual({ status, output }, { status: 2, output: '' });
      assert.match(warnings, /no notes-server|not those of a notes-server/);
    };
    synced.write('send.md', 'mine');
    await assertRefused();
    await synced.put('send.md', 'theirs');
    await synced.sync();
    assert.deepEqual(Object.values(await synced.notes()).sort(), ['delete.md', 'mine', 'theirs']);
    synced.remove('delete.md');
    await assertRefused();
    synced.write('new.md', 'new');
    await assertRefused();
    await synced.sync();
    assert.deepEqual(await synced.notes(), synced.files());
  }
});

test('sync: a tag that a proxy made weak is that of the service', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const run = await startProxy(t, synced, async (forward) => {
    const answer = await forward();
    return (
      answer && { ...answer, headers: { ...answer.headers, etag: `W/${answer.headers.etag}` } }
    );
  });
  for (const text of ['1', '2']) {
    synced.write('a.md', text);
    assert.deepEqual([(await run()).status, await synced.notes()], [0, { 'a.md': text }]);
  }
  assert.equal((await run()).output, '');
});
