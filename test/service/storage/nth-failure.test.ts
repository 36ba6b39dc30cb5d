// The driver fails at one of its calls: every answer is a defined one and true, the next request
// works, and no transaction stays open. The kinds of faults take turns; the endurance tests go
// through every kind at every call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CASES, failCalls, failStarts } from './failing-calls.ts';

test('driver faults: at calls of a service, its answers are true', (t) =>
  failCalls(t, (call) => CASES[call % CASES.length] ?? assert.fail(), 3));

test('driver faults: at calls of a start, and the next start works', (t) => failStarts(t, 9));
