// Carries out the recipes of the guide to changing the service on a copy of the project, builds the
// copy, uses what is new on an empty and on a filled database, and runs tests that must not break.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, startCommand } from '../support/command.ts';
import { breaksOf } from '../support/contract-breaks.ts';
import { temporaryFolder } from '../support/engine.ts';
import { send } from '../support/http.ts';
import { assertServes, RELEASES } from '../support/released.ts';
import { root } from '../support/sources.ts';
import { Copy, DEFAULTS, OTHERS, RECIPES } from './recipes.ts';

/** Tests that do not speak of what the recipes add, and those of size; all would take minutes. */
const OTHER_TESTS = [
  ...['project/architecture', 'project/tour'],
  ...['commands', 'contract', 'history', 'resources', 'storage'].flatMap(testsIn),
  ...['service/lists', 'service/records'].flatMap(testsIn),
  ...['access/rights', 'commands/repair', 'docs/docs-page', 'http/methods', 'operation/health'].map(
    (name) => `service/${name}`,
  ),
];

function testsIn(folder: string): string[] {
  const files = readdirSync(new URL(`test/${folder}`, root));
  const tests = files.filter((file) => file.endsWith('.test.ts'));
  return tests.map((file) => `${folder}/${file.replace('.test.ts', '')}`);
}

/** For how long old databases keep their trash. */
const CENTURY = ['--history-days', '36500'];

const NOTE = { title: 'a', body: 'b' };

test('recipes: what they describe works', { timeout: 800_000 }, async (t) => {
  const copy = new Copy(t);
  for (const carryOut of RECIPES) carryOut(copy);
  await copy.run('npx', 'biome', 'format', '--write', '--vcs-enabled=false', 'src', 'schemas');
  const build = copy.run('npm', 'run', 'build', '--silent');
  await build.catch(({ stdout, stderr }) =>
    assert.fail(`the copy can be built: ${stdout}${stderr}`),
  );
  const launcher = copy.path('bin/notes-server');
  const folder = temporaryFolder(t);

  async function command(args: string[], input = '') {
    const { status, stdout, stderr } = await runCommand(t, args, { launcher, folder, input });
    assert.equal(status, 0, `${args}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Starts a service, by default the changed one, and returns functions that use it. */
  async function start(db: string, parts: { launcher?: string; args?: string[] } = { launcher }) {
    const { args = [], ...others } = parts;
    const greeting = parts.launcher ? ['--greeting', 'Hello, operator'] : [];
    const all = ['--port', '0', '--db', db, ...greeting, ...args];
    const service = startCommand(t, all, { folder, ...others });
    const url = await service.ready();
    const json = async (method: string, path: string, body?: object) => {
      const { status, text } = await send(url, method, path, body && { json: body });
      return { status, ...(text && { body: JSON.parse(text) }) };
    };
    const idsIn = async (path: string) =>
      (await json('GET', path)).body.items?.map(({ id }: { id: number }) => id);
    const stop = async () => {
      service.process.kill('SIGTERM');
      assert.equal((await service.ended).status, 0);
    };
    return { service, url, json, idsIn, stop };
  }

  for (const database of ['an empty', 'a filled']) {
    const db = join(folder, `${database.slice(2).trim()}.db`);

    await t.test(`recipes: on ${database} database`, async () => {
      const first = await start(db, database === 'a filled' ? {} : { launcher });
      await first.json('POST', '/notes', { ...NOTE, tags: ['x'] });
      await first.json('POST', '/notes/1/comments', { body: 'c' });
      await first.stop();

      // The commands, before a service brings the filled one up to date
      await command(['check', '--repair', '--db', db]);
      assert.match(await command(['export', '--db', db]), /"type":"comment"/);

      const { service, url, json, idsIn, stop } = await start(db);

      // Fields
      const changed = { ...NOTE, ...OTHERS };
      const old = { id: 1, ...NOTE, ...DEFAULTS };
      const added = { id: 2, ...changed };
      assert.deepEqual((await json('GET', '/notes/1')).body, old);
      assert.deepEqual(await json('POST', '/notes', changed), { status: 201, body: added });
      assert.deepEqual((await json('PUT', '/notes/2', NOTE)).body, { ...old, id: 2 });
      for (const [name, value] of Object.entries(OTHERS)) {
        assert.deepEqual((await json('PATCH', '/notes/2', { [name]: value })).body[name], value);
        assert.deepEqual((await json('GET', `/notes/2?fields=${name}`)).body, { [name]: value });
        assert.equal((await json('PATCH', '/notes/2', { [name]: [] })).status, 422);
      }
      assert.deepEqual((await json('PATCH', '/notes/2', {})).body, added);

      // The trash has them, too.
      await json('DELETE', '/notes/2');
      const { items: trash } = (await json('GET', '/trash?fields=pinned')).body;
      assert.deepEqual(trash, [{ pinned: true }]);
      assert.deepEqual((await json('POST', '/trash/2/restore')).body, added);

      // Search: words of the new texts do not count.
      assert.deepEqual(await idsIn('/notes?q=b&include=snippet'), [1, 2]);
      assert.deepEqual(await idsIn('/notes?q=kumquat'), []);

      // Filters
      for (const [name, value] of Object.entries(OTHERS)) {
        const query = `${name}=${encodeURIComponent(String(value))}`;
        assert.deepEqual(await idsIn(`/notes?${query}`), [2], query);
        assert.deepEqual(await idsIn(`/tags/1/notes?${query}`), [], query);
        const byDefault = `${name}=${DEFAULTS[name]}`;
        assert.deepEqual(await idsIn(`/tags/1/notes?${byDefault}&q=b`), [1], byDefault);
      }

      // An order
      assert.deepEqual(await idsIn('/notes?order=priority'), [1, 2]);
      assert.deepEqual(await idsIn('/notes?order=-priority&limit=1'), [2]);
      assert.deepEqual(await idsIn('/notes?order=-priority&offset=1&q=b'), [1]);
      assert.deepEqual(await idsIn('/tags/1/notes?order=-priority'), [1]);
      assert.equal((await json('GET', '/notes?order=priority&after=1')).status, 422);

      // An included member, an operation, a demonstration
      const { body } = await json('GET', '/notes?include=tags_count&fields=id');
      const counts = body.items.map((item: Record<string, number>) => item.tags_count);
      assert.deepEqual(counts, [1, 0]);
      assert.deepEqual((await json('GET', '/stats')).body, 2);
      const items = { items: ['a', 'b'] };
      assert.deepEqual((await json('POST', '/echo/run', items)).body, items);

      // A resource
      const { next } = (await json('GET', '/changes')).body;
      const created = await json('POST', '/binders', { name: 'work' });
      assert.deepEqual(created, { status: 201, body: { id: 1, name: 'work' } });
      assert.equal((await json('GET', '/binders?name=work')).body.total, 1);
      assert.equal((await json('PUT', '/binders/1', { name: 'home' })).body.name, 'home');
      assert.match(
        (await json('GET', '/binders/2')).body.detail,
        /^Binder with ID 2 was not found/,
      );
      assert.match((await send(url, 'GET', `/changes?since=${next}`)).text, /"binder\.updated"/);

      // A resource that notes own comes back with its note, and is erased with it.
      const remarks = '/notes/2/remarks';
      assert.equal((await json('POST', remarks, { body: 'kept' })).status, 201);
      await json('DELETE', '/notes/2');
      for (const path of [remarks, `${remarks}/1`])
        assert.equal((await json('GET', path)).status, 404);
      assert.equal((await json('POST', '/trash/2/restore')).status, 200);
      assert.deepEqual((await json('GET', `${remarks}/1`)).body, {
        ...{ id: 1, note_id: 2, body: 'kept' },
      });
      assert.deepEqual(await idsIn(remarks), [1]);
      const feed = (await send(url, 'GET', `/changes?since=${next}`)).text;
      for (const type of ['created', 'deleted', 'created'])
        assert.ok(feed.includes(`"remark.${type}"`), type);
      await json('POST', '/notes', NOTE);
      await json('POST', '/notes/3/remarks', { body: 'gone' });
      for (const path of ['/notes/3', '/trash/3']) await json('DELETE', path);

      // A tool
      const params = { name: 'list_binders', arguments: {} };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const { result } = (await json('POST', '/mcp', message)).body;
      assert.match(result.content[0].text, /"items":\[\{"id":1,"name":"home"\}\]/);

      // A problem, an option
      const { status, body: problem } = await json('GET', '/livez?verbose=1');
      assert.deepEqual([status, problem.status], [418, 418]);
      assert.ok(problem.type.endsWith('/problems/teapot'));
      assert.match((await send(url, 'GET', '/problems/teapot')).text, /Ask for tea\./);
      await service.says('Hello, operator');
      await stop();

      // The commands
      await command(['check', '--db', db]);
      const file = await command(['export', '--db', db]);
      await command(['import', '--db', `${db}.imported`], file);
      const again = await command(['export', '--db', `${db}.imported`]);
      assert.doesNotMatch(file, /"body":"gone"/);
      // The first line has the number of the last change.
      assert.deepEqual(again.split('\n').slice(1), file.split('\n').slice(1));
      await command(['check', '--db', `${db}.imported`]);
    });
  }

  for (const release of RELEASES)
    await t.test(`recipes: on the database of ${release.version}`, async () => {
      const contract = JSON.parse(copy.read('schemas/openapi.json'));
      assert.deepEqual(breaksOf(release.contract, contract), []);
      const db = await release.copyDatabase(t);
      const { url, json, service, stop } = await start(db, { launcher, args: CENTURY });
      await service.says('upgrading the database');
      await assertServes((...args) => send(url, ...args), release);
      const { total } = (await json('GET', '/notes')).body;
      assert.equal((await json('GET', '/notes?progress=open')).body.total, total);
      const { items: trash } = (await json('GET', '/trash?fields=priority')).body;
      assert.ok(trash.every(({ priority }: { priority: number }) => priority === 0));
      await stop();
      await command(['check', '--db', db]);
      await command(['import', '--db', `${db}.imported`], release.exported);
      await command(['check', '--db', `${db}.imported`]);
    });

  await t.test('recipes: a command', async () => {
    assert.equal(await command(['hello', 'Ada']), 'Hello, Ada\n');
    assert.match(await command(['--help']), /--greeting TEXT/);
  });

  await t.test('recipes: tests that do not speak of what is new pass', async () => {
    assert.deepEqual(await copy.failuresOf(OTHER_TESTS), []);
  });

  await t.test('recipes: the build refuses a step with two statements in one', async () => {
    copy.addStep('TWO', 'CREATE TABLE one (a TEXT);\nCREATE TABLE two (b TEXT);');
    const reason = /an empty line must separate statements/;
    await assert.rejects(copy.run('npm', 'run', 'build', '--silent'), reason);
  });
});
