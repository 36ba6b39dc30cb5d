// A few hundred mutated requests, the same at each run. test/endurance/mutations.test.ts sends
// thousands at random.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTally, sendMutations } from '../../support/fuzz.ts';
import { samplesOfContract } from '../../support/samples.ts';
import { assertNoErrors, startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const REQUESTS = 300;

const samples = samplesOfContract();

test('mutations: the samples cover every operation of the contract', () => {
  const { bare, withBodies, demonstrations } = samples;
  assert.ok(bare.length > 50 && withBodies.length >= 12 && demonstrations.length >= 12);
  assert.deepEqual(
    [...bare, ...withBodies, ...demonstrations].filter(
      (text) => text.includes('undefined') || /\{\w+\}/.test(text),
    ),
    [],
  );
});

test(`mutations: ${REQUESTS} requests get complete answers`, async (t) => {
  const service = await startService({ after });
  const note = { title: 'a', body: 'b' };
  assert.equal((await service.request('POST', '/notes', { json: note })).status, 201);
  const tally = createTally();
  // The demonstrations take a thousand times as long.
  const cheap = { ...samples, demonstrations: samples.bare };
  await sendMutations(
    service.port,
    { samples: cheap, seed: 1, first: 0, last: REQUESTS, connections: 8 },
    tally,
  );
  t.diagnostic(JSON.stringify({ ...tally, statuses: Object.fromEntries(tally.statuses) }));
  assert.ok(tally.connections < REQUESTS, 'no answer to a probe was recognized');
  const accepted = (tally.statuses.get(200) ?? 0) + (tally.statuses.get(201) ?? 0);
  assert.ok(
    accepted > REQUESTS / 20,
    `only ${accepted} were accepted: the mutations are too rough`,
  );
  assert.equal((await service.request('POST', '/notes', { json: note })).status, 201);
  assertNoErrors(service);
  await service.close();
  await assertSound(service.file);
});
