// If several things are wrong with a request, the answer names the first of them in a fixed order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem, converse, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

test('fault order: each correction reveals the next fault', async (t) => {
  const service = await startService(t, { bodyLimitBytes: 1_000 });
  const [long, noJson, wrong, right] = ['x'.repeat(1_001), '{', '{"title":1}', '{"title":"a","body":"b"}'];
  const text = ['content-type: text/plain'];
  const steps = [
    {
      slug: 'request-header-fields-too-large',
      sent: requestText('PATCH /nothing/x#', [`x: ${'y'.repeat(17_000)}`], long),
    },
    { slug: 'bad-request', sent: requestText('PATCH /nothing/x#', [...text, 'host: b'], long) },
    { slug: 'bad-request', sent: requestText('PATCH /nothing/x#', text, long) },
    { slug: 'not-found', sent: requestText('PATCH /nothing/x', text, long) },
    { slug: 'method-not-allowed', sent: requestText('PATCH /notes/x', text, long) },
    { slug: 'unsupported-media-type', sent: requestText('PUT /notes/x', text, long) },
    { slug: 'payload-too-large', sent: requestText('PUT /notes/x', [], long) },
    { slug: 'bad-request', sent: requestText('PUT /notes/x', [], noJson) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/x', [], wrong) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/1', [], wrong) },
    { slug: 'validation-failed', sent: requestText('PUT /notes/x', [], right) },
    { slug: 'not-found', sent: requestText('PUT /notes/1', [], right) },
  ] as const;
  for (const { slug, sent } of steps) {
    const { socket, answer } = await converse(service, sent);
    const { detail } = assertProblem(await answer(), slug);
    socket.destroy();
    if (sent.includes('/notes/1 ') && slug === 'not-found') assert.equal(detail, 'Note with ID 1 was not found.');
  }
});
