// Records that come by another way than a request are judged as those that do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordCheck } from '../../src/contract/record.ts';

test('what could be sent to create a record is right, whatever else is beside it', () => {
  const check = recordCheck('/notes');
  assert.equal(check({ title: 'a', body: 'b' }), undefined);
  assert.equal(check({ type: 'note', id: 1, title: 'a', body: 'b' }), undefined);
  assert.equal(
    check({ title: '', body: 5 }),
    'title must NOT have fewer than 1 characters; title must not be blank; body must be string.',
  );
  assert.equal(check({ title: 'a' }), "body must have required property 'body'.");
  assert.equal(recordCheck('/notes/{note_id}/comments')({ id: 1, note_id: 1, body: ' ' }), 'body must not be blank.');
});

test('a list that the contract does not have is an error at the start', () => {
  assert.throws(() => recordCheck('/users'), /the contract has no records at \/users/);
});
