// Creations of notes with names that wait for one batch, on SQLite and on the stand-in for rqlite.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { notes } from '../../src/resources/notes.ts';
import { overhear } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';
import { tableOf } from '../support/tables.ts';

for (const engine of ENGINES)
  describe(engine.name, () => {
    test('names: of creations with one name in a batch, the first is carried out', async (t) => {
      const heard = overhear(await engine.open(t));
      const table = tableOf(notes, heard.database);
      const before = heard.transactions.length;
      const created = await Promise.all(
        ['a', 'b', 'a'].map((name) => table.createWith([{ title: name }], { name })),
      );
      const refusals = created.map((each) => each?.refusal?.slug);
      assert.deepEqual(refusals, [undefined, undefined, 'validation-failed']);
      assert.equal(heard.transactions.length, before + 1);
    });
  });
