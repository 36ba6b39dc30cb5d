// The table of decisions: every cell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Action, decide, type HereKind, type ThereKind } from '../../src/sync/decisions.ts';

type Cells = readonly [none: Action, same: Action, changed: Action];

const THERE: readonly ThereKind[] = ['none', 'same', 'new'];

const KNOWN: Readonly<Record<HereKind, Cells>> = {
  none: ['forget', 'delete there', 'get'],
  same: ['delete here', 'none', 'get'],
  new: ['create', 'send', 'compare'],
  blank: ['forget', 'leave', 'get'],
  bad: ['leave', 'leave', 'leave'],
};

/** Without a base, nothing is as it was. */
const UNKNOWN: Readonly<Record<'none' | 'new' | 'blank' | 'bad', readonly [Action, Action]>> = {
  none: ['forget', 'get'],
  new: ['create', 'compare'],
  blank: ['leave', 'get'],
  bad: ['leave', 'leave'],
};

for (const [here, cells] of Object.entries(KNOWN) as [HereKind, Cells][])
  for (const [index, there] of THERE.entries())
    test(`decisions: known, ${here} here and ${there} there: ${cells[index]}`, () => {
      assert.equal(decide({ isKnown: true, here, there }), cells[index]);
    });

for (const [here, [none, changed]] of Object.entries(UNKNOWN) as [HereKind, [Action, Action]][])
  test(`decisions: unknown, ${here} here: ${none} or ${changed}`, () => {
    assert.equal(decide({ isKnown: false, here, there: 'none' }), none);
    assert.equal(decide({ isKnown: false, here, there: 'new' }), changed);
  });

test('decisions: two new texts are adopted if they are equal, and else a conflict', () => {
  for (const isKnown of [true, false]) {
    const sides = { isKnown, here: 'new', there: 'new' } as const;
    assert.equal(decide({ ...sides, areEqual: true }), 'adopt');
    assert.equal(decide({ ...sides, areEqual: false }), 'conflict');
  }
});

test('decisions: equal texts change no other decision', () => {
  for (const here of Object.keys(KNOWN) as HereKind[])
    for (const there of THERE) {
      const action = decide({ isKnown: true, here, there });
      if (action === 'compare') continue;
      for (const areEqual of [true, false])
        assert.equal(decide({ isKnown: true, here, there, areEqual }), action);
    }
});

test('decisions: nothing unknown is deleted', () => {
  for (const here of Object.keys(KNOWN) as HereKind[])
    for (const there of THERE)
      assert.doesNotMatch(decide({ isKnown: false, here, there }), /delete/, `${here} ${there}`);
});
