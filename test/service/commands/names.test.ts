// The names of notes in exports, imports and checks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFile } from '../../support/databases.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

const NOTE = { title: 'a', body: 'b' };

const importInto = (db: string, input: string) => runInProcess(['import', '--db', db], { input });

test('names: an import has those of its export; an earlier export has none', async (t) => {
  const [from, to, old] = [newFile(t), newFile(t), newFile(t)];
  const service = await startService(t, { db: from });
  for (const name of ['one', 'two']) await service.request('PUT', `/named/${name}`, { json: NOTE });
  await service.close();
  const text = await exported(from);
  assert.match(text, /^\{"type":"note_name","note_id":2,"name":"two"\}$/m);
  const { line } = await importInto(to, text);
  assert.match(line ?? '', /^imported 2 notes, 0 tags, 0 comments, 2 note names from/);
  await assertSound(to);
  assert.equal(await exported(to), text);
  const copy = await startService(t, { db: to });
  assert.equal((await copy.request('GET', '/named/two')).json.id, 2);
  assert.equal((await copy.request('PUT', '/named/two', { json: NOTE })).status, 200);

  const earlier = text
    .replace(/.*"note_name".*\n/g, '')
    .replace(',"note_names":2', '')
    .replace('"records":4', '"records":2');
  await importInto(old, earlier);
  await assertSound(old);
});

test('names: an import refuses what cannot be one', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  for (const name of ['one', 'two']) await service.request('PUT', `/named/${name}`, { json: NOTE });
  await service.close();
  const text = await exported(db);
  for (const [before, after, reason] of [
    ['"name":"two"', '"name":"-"', /line 5: name must match \^\[A-Za-z0-9\]/],
    ['"name":"two"', '"name":1', /line 5: name must match/],
    ['"name":"two"', '"name":"one"', /line 5: an earlier line has the same note_id or name$/],
    ['"note_id":2', '"note_id":1', /line 5: an earlier line has the same note_id or name$/],
    ['"note_id":2', '"note_id":3', /line 5: it refers to a record that does not exist$/],
  ] as const)
    await assert.rejects(importInto(newFile(t), text.replace(before, after)), { message: reason });
});
