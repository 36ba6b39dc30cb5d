// The examples and rules of W3C Trace Context, level 1, section 3.2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceIdOf } from '../../src/log/feature.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${PARENT}-01`;

test('trace context: the trace id of a valid traceparent', () => {
  const valid = [VALID, `00-${TRACE}-${PARENT}-ff`, `01-${TRACE}-${PARENT}-00`];
  const later = [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, `fe-${TRACE}-${PARENT}-01-`];
  for (const traceparent of [...valid, ...later])
    assert.equal(traceIdOf({ traceparent }), TRACE, traceparent);
});

test('trace context: invalid ones are ignored', () => {
  assert.equal(traceIdOf({}), undefined);
  for (const traceparent of [
    ...['', TRACE, ` ${VALID}`, `${VALID}\n`, VALID.replace('00-', 'ff-'), VALID.replace('0', 'x')],
    ...[`00-${'0'.repeat(32)}-${PARENT}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
    ...[TRACE, PARENT].map((id) => VALID.replace(id, id.toUpperCase())),
    ...[`00-${TRACE}a-${PARENT}-01`, `00-${TRACE}-${PARENT.slice(1)}-01`],
    ...['', '1', '001', '01-more'].map((end) => `00-${TRACE}-${PARENT}-${end}`),
    `cc-${TRACE}-${PARENT}-01.more`,
    // Of several fields with this name, node:http makes one.
    `${VALID}, ${VALID}`,
  ])
    assert.equal(traceIdOf({ traceparent }), undefined, traceparent);
});
