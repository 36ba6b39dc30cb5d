// A hundred clients ask for much of the log of changes at once: an ordinary read beside them takes
// at most a second.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { withNumbers, writeFilled } from '../support/databases.ts';
import type { Answer } from '../support/http.ts';
import { startRestartable } from '../support/restartable-service.ts';

const WITHIN_MS = 1_000;
/** Another load on the machine may spoil some tries, but not all. */
const TRIES = 3;

const CLIENTS = 100;
const LOGGED = 500_000;
const TAGS = 3_000;
const CHANGED = 1_000;

/** What each client asks for, with a number of its own. */
const ASKED = {
  'a time': (own: number) => `since=2999-01-01T00:00:00.${own}Z`,
  'a part': (own: number, first: string) => `since=${first}&tag=t1&type=note.deleted&limit=${own}`,
  'large records': (own: number, _: string, last: string) =>
    `since=${last}&include=record,tags&limit=${1_000 - own}`,
};

test('feed reads: many ask for much at once', async (t) => {
  const db = await writeFilled(t, [
    `INSERT INTO notes (title, body) VALUES ('small', 'b'), ('large', 'b')`,
    `${withNumbers(TAGS)}
     INSERT INTO tags (name) SELECT printf('%.*c', 150, 't') || n FROM numbers`,
    'INSERT INTO note_tags (note_id, tag_id) SELECT 2, id FROM tags',
    `${withNumbers(LOGGED)} INSERT INTO changes (type, id) SELECT 'note.updated', 1 FROM numbers`,
    `${withNumbers(CHANGED)} INSERT INTO changes (type, id) SELECT 'note.updated', 2 FROM numbers`,
    'UPDATE changes SET at = number',
  ]);
  const service = await startRestartable(t, db, 1);
  const end: string = (await service.insist('GET', '/changes')).json.next;
  const [generation, number] = end.split('-');
  const last = `${generation}-${Number(number) - CHANGED}`;
  for (const [what, queryOf] of Object.entries(ASKED)) {
    const tries: number[] = [];
    do {
      const agent = new Agent({ maxSockets: CLIENTS });
      let left = CLIENTS;
      const refusals: string[] = [];
      for (let own = 1; own <= CLIENTS; own += 1) {
        const path = `/changes?${queryOf(own, `${generation}-1`, last)}`;
        const leave = (answer?: Answer) => {
          left -= 1;
          if (answer && answer.status !== 200) refusals.push(answer.text);
        };
        service.attempt('GET', path, { agent }).then(leave, () => leave());
      }
      let longestMs = 0;
      const untilMs = performance.now() + 2_000;
      for (let count = 0; left > 0 && performance.now() < untilMs; count += 1) {
        const sentMs = performance.now();
        // Each is another page, which no memory has.
        const { status } = await service.insist('GET', `/notes?limit=1&after=${count}`);
        assert.equal(status, 200);
        longestMs = Math.max(longestMs, performance.now() - sentMs);
      }
      tries.push(longestMs);
      assert.deepEqual(refusals, []);
      // Those that still wait leave.
      agent.destroy();
    } while ((tries.at(-1) ?? 0) > WITHIN_MS && tries.length < TRIES);
    t.diagnostic(`${what}: ${tries.map(Math.round)} ms`);
    assert.ok(Math.min(...tries) <= WITHIN_MS, `${what}: ${tries}`);
  }
  await service.stop();
});
