// The tests of appends and edits, for any engine: what they do to a body, and that those of one
// batch act as if one followed the other.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { MAX_BODY_LENGTH } from '../../src/contract/generated.js';
import { rewrite as change } from '../../src/edits/rewrites.ts';
import { type Condition, isNoneOf, isOneOf } from '../../src/records/condition.ts';
import { notes as resource } from '../../src/resources/notes.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { overhear } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { type Once, tableOf } from '../support/tables.ts';

async function open(t: TestContext, engine: Engine) {
  const heard = overhear(await engine.open(t));
  const write = createWriter(heard.database);
  const notes = tableOf(resource, heard.database, write);
  const rewrite = (id: number, condition: Condition, [first, second]: Texts, once?: Once) =>
    second === undefined
      ? change(write, id, condition, once, first)
      : change(write, id, condition, once, second, first);
  return { heard, notes, rewrite };
}

/** A text to append, or one to replace and the one to put in its place. */
type Texts = readonly [text: string] | readonly [oldText: string, newText: string];

/** Texts in which bodies and patterns differ from what SQL functions expect. */
const parts = [...'ab\n \u3000\0\\"%*猫😀', 'ab', '\\u0000'];
const text = (maxLength: number) =>
  fc.array(fc.constantFrom(...parts), { maxLength }).map((all) => all.join(''));

/** Returns a body after a write, or the reason why it stays. */
function expected(body: string, texts: Texts): { readonly body?: string; readonly state: string } {
  const [first, second] = texts;
  if (second === undefined) {
    if (first === '') return { state: 'same' };
    return { state: 'changed', body: `${body}${body.endsWith('\n') ? '' : '\n'}${first}` };
  }
  const place = body.indexOf(first);
  if (place === -1) return { state: 'absent' };
  if (body.indexOf(first, place + 1) !== -1) return { state: 'several' };
  const edited = body.slice(0, place) + second + body.slice(place + first.length);
  if (edited === body) return { state: 'same' };
  return /\S/.test(edited) ? { state: 'changed', body: edited } : { state: 'blank' };
}

/** Registers the tests of appends and edits on `engine`. */
export function testRewrites(engine: Engine): void {
  test('rewrites: any texts, compared with a model', async (t) => {
    const { notes, rewrite } = await open(t, engine);
    const texts = fc.oneof(fc.tuple(text(4)), fc.tuple(text(2).filter(Boolean), text(4)));
    const start = text(8).map((each) => `aaa${each}`);
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.array(texts, { minLength: 1, maxLength: 8 }),
        async (first, all) => {
          const id = (await notes.create([{ body: first }]))?.id ?? 0;
          let body = first;
          for (const each of all) {
            const before = await notes.read(id);
            const outcome = await rewrite(id, null, each);
            const { state, body: next = body } = expected(body, each as Texts);
            body = next;
            const after = await notes.read(id);
            assert.equal(outcome?.state, state);
            assert.equal(JSON.parse(after?.text ?? '').body, body);
            assert.deepEqual([outcome?.text, outcome?.tag], [after?.text, after?.tag]);
            assert.equal(after?.tag === before?.tag, state !== 'changed');
          }
        },
      ),
      { numRuns: 20, examples: [['aaab', [['aa', 'c'], ['b', ''], ['d', ''], ['']]]] },
    );
  });

  test('rewrites: appends to one note that wait become one change', async (t) => {
    const { heard, notes, rewrite } = await open(t, engine);
    await notes.create([{ body: 'first' }, { body: 'other\n' }]);
    const numberOf = (tag = '') => Number(tag.split('-')[1]);
    const last = numberOf((await notes.read(2))?.tag);
    const transactions = heard.transactions.length;
    const texts = Array.from({ length: 50 }, (_, index) => `\0${index}${index % 3 ? '' : '\n'}`);
    const outcomes = await Promise.all([
      ...texts.map((each, index) =>
        rewrite(1, null, [each], index % 2 ? undefined : { key: `${index}`, fingerprint: 'f' }),
      ),
      rewrite(2, null, ['text']),
    ]);
    assert.equal(heard.transactions.length, transactions + 1);
    const other = outcomes.pop();
    assert.deepEqual(new Set(outcomes.map((each) => numberOf(each?.tag))), new Set([last + 1]));
    assert.equal(numberOf(other?.tag), last + 2);
    assert.equal(new Set(outcomes.map((each) => each?.text)).size, 1);
    const body = `first\n${texts.map((each) => each.replace(/\n?$/, '\n')).join('')}`;
    assert.equal(JSON.parse(outcomes[0]?.text ?? '').body, body.slice(0, -1));
    assert.equal(JSON.parse(other?.text ?? '').body, 'other\ntext');
    for (const [id, outcome] of [
      [1, outcomes[0]],
      [2, other],
    ] as const) {
      const { text: stored, tag } = (await notes.read(id)) ?? {};
      assert.deepEqual([stored, tag], [outcome?.text, outcome?.tag]);
    }
  });

  test('rewrites: one that must be refused spoils no other of its batch', async (t) => {
    const { notes, rewrite } = await open(t, engine);
    await notes.create([{ body: 'body' }]);
    const once = (key: string) => ({ key, fingerprint: 'f' });
    const { tag = '' } = (await notes.read(1)) ?? {};
    await rewrite(1, null, ['known'], once('k'));
    const now = (await notes.read(1))?.tag ?? '';
    const outcomes = await Promise.all([
      rewrite(1, null, ['x'.repeat(MAX_BODY_LENGTH)]),
      rewrite(1, null, ['known'], once('k')),
      rewrite(1, isOneOf([tag]), ['stale']),
      rewrite(1, isNoneOf([tag]), ['1'], once('l')),
      rewrite(1, isOneOf([now]), ['too late'], once('q')),
      rewrite(1, null, [''], once('empty')),
      rewrite(1, null, ['2'], once('m')),
      rewrite(1, null, ['body', 'Body'], once('n')),
      rewrite(1, null, ['nowhere', ''], once('o')),
      rewrite(9, null, ['3'], once('p')),
      rewrite(1, null, ['4']),
    ]);
    assert.deepEqual(
      outcomes.map((each) => each?.state),
      [
        ...['long', 'repeated', 'unmatched', 'changed', 'unmatched', 'same', 'changed'],
        ...['changed', 'absent', undefined, 'changed'],
      ],
    );
    const lines = JSON.parse((await notes.read(1))?.text ?? '').body.split('\n');
    assert.deepEqual(lines.sort(), ['1', '2', '4', 'Body', 'known']);
    // What was carried out is a repetition now; what was refused can be sent again.
    const again = async (key: string, ...texts: [string] | [string, string]) =>
      (await rewrite(1, null, texts, once(key)))?.state;
    for (const key of ['k', 'l', 'm', 'n', 'empty'])
      assert.equal(await again(key, 'x'), 'repeated');
    for (const key of ['o', 'p', 'q']) assert.equal(await again(key, 'x'), 'changed');
  });

  test('rewrites: of equal keys in one batch, the first is carried out', async (t) => {
    const { heard, notes, rewrite } = await open(t, engine);
    await notes.create([{ body: 'body' }]);
    const once = { key: 'k', fingerprint: 'f' };
    const before = heard.transactions.length;
    const outcomes = await Promise.all([1, 2, 3].map(() => rewrite(1, null, ['line'], once)));
    assert.deepEqual(
      outcomes.map((each) => each?.state),
      ['changed', 'repeated', 'repeated'],
    );
    assert.equal(JSON.parse((await notes.read(1))?.text ?? '').body, 'body\nline');
    // None has failed.
    assert.equal(heard.transactions.length, before + 1);
  });

  test('rewrites: a condition is tested after the changes before it in a batch', async (t) => {
    const { notes, rewrite } = await open(t, engine);
    const tag = (await notes.create([{ body: 'body' }]))?.tag ?? '';
    const conditions = [null, isOneOf([tag]), isNoneOf([tag]), null];
    const outcomes = await Promise.all(
      conditions.map((each, index) => rewrite(1, each, [`${index}`])),
    );
    const states = outcomes.map((each) => each?.state);
    assert.deepEqual(states, ['changed', 'unmatched', 'changed', 'changed']);
    assert.equal(JSON.parse((await notes.read(1))?.text ?? '').body, 'body\n0\n2\n3');
  });
}
