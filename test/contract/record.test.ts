// Records from an import are checked as those from a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordCheck } from '../../src/commands/export-format.ts';

test('record check: accepts what a create accepts', () => {
  const check = recordCheck('/notes');
  assert.equal(check({ title: 'a', body: 'b' }), undefined);
  assert.equal(check({ type: 'note', id: 1, title: 'a', body: 'b' }), undefined);
  const faults = check({ title: '', body: 5 })?.split(/; |\.$/) ?? [];
  assert.deepEqual(faults.sort(), ['', 'body must be a string', 'title must not be empty']);
  assert.equal(check({ title: 'a' }), 'body is required.');
  assert.equal(
    recordCheck('/notes/{note_id}/comments')({ id: 1, note_id: 1, body: ' ' }),
    'body must not be blank.',
  );
});

test('record check: a list that the contract lacks is an error', () => {
  assert.throws(() => recordCheck('/users'), /the contract has no records at \/users/);
});
