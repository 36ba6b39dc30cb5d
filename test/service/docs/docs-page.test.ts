// The docs page in a real browser, as a smoke test. The other tests of the pages are
// test/endurance/browser-*.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execute, OPERATIONS, open, skip } from '../../support/browser.ts';
import { contract } from '../../support/contract.ts';
import { expected } from '../../support/records.ts';
import { startService } from '../../support/service.ts';

test('docs page: renders every operation and creates a note', { skip }, async (t) => {
  const service = await startService(t);
  const { page, faults } = await open(t, `${service.url}/docs#/Notes/createNote`);
  const block = page.locator('#operations-Notes-createNote');
  await block.locator('.execute').waitFor();
  const shown = await page.locator('.opblock-summary-control').allTextContents();
  const declared = OPERATIONS.map(({ method, path, summary }) => `${method}${path}${summary}`);
  assert.deepEqual(shown.sort(), declared.sort());

  const note = { title: 'From the page', body: '<b>"ünïcode" & 🗒</b>' };
  await block.locator('textarea').fill(JSON.stringify(note));
  const { text, ...answer } = await execute(block);
  assert.deepEqual(answer, { url: `${service.url}/notes`, status: '201' });
  const record = expected({ id: 1, ...note });
  assert.deepEqual(JSON.parse(text ?? ''), record);
  assert.deepEqual((await service.request('GET', '/notes/1')).json, record);
  assert.deepEqual(faults, []);
});

/** A part of the contract: a parameter or a schema. */
interface Part {
  readonly [member: string]: unknown;
  readonly $ref?: string;
}

function resolve({ $ref, ...own }: Part): Part {
  if ($ref === undefined) return own;
  const path = $ref.slice(2).split('/');
  const target = path.reduce<unknown>((part, name) => (part as Part)[name], contract);
  return { ...resolve(target as Part), ...own };
}

test('docs page: bounds and forms of every parameter are described, without patterns', async () => {
  const script = new URL('../../../src/docs/assets/description.js', import.meta.url);
  const { prepare } = await import(script.href);
  const text = JSON.stringify(contract);
  const { paths } = prepare(text, 'http://127.0.0.1');
  assert.doesNotMatch(JSON.stringify(paths), /"pattern":/);
  let count = 0;
  for (const [path, { parameters: common = [], ...operations }] of Object.entries(contract.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const own = (operation as { parameters?: Part[] }).parameters ?? [];
      for (const declared of [...(common as Part[]), ...own].map(resolve)) {
        const schema = resolve(declared.schema as Part);
        const items = resolve((schema.items ?? {}) as Part);
        const { name, in: place } = declared;
        const shown = paths[path][method].parameters.find(
          (each: Part) => each.name === name && each.in === place,
        );
        const { description = '' } = declared.schema as Part;
        assert.ok(shown.description.includes(description), `${method} ${path}, ${name}`);
        for (const bound of ['default', 'minimum', 'maximum', 'minLength', 'maxLength', 'enum']) {
          for (const value of [schema[bound] ?? items[bound] ?? []].flat()) {
            assert.ok(shown.description.includes(`\`${value}\``), `${method} ${path}, ${name}`);
            count += 1;
          }
        }
      }
    }
  }
  assert.ok(count > 100, `${count} bounds`);
});
