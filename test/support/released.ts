// What released versions have left: in test/released, a folder for each has a database, its export,
// requests with keys that it has answered, and the contract.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { change, newFile, openEmpty } from './databases.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import type { Answer, RequestParts } from './http.ts';
import { exported } from './in-process-command.ts';
import { root } from './sources.ts';

/** A request with a key, and its answer. */
export interface KeptRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly json?: object;
  readonly status: number;
  readonly body: unknown;
}

/** What a version has left. */
export interface Release {
  readonly version: string;
  readonly contract: Readonly<Record<string, unknown>>;
  /** What it promised beside the contract. */
  readonly promises: readonly string[];
  readonly exported: string;
  readonly requests: readonly KeptRequest[];
  /** Resolves with the path of a copy of its database, in which keys were used just now. */
  copyDatabase(test: Ends): Promise<string>;
}

const folder = new URL('test/released/', root);

/** All releases, the oldest first. */
export const RELEASES: readonly Release[] = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .map(readRelease);

function readRelease(version: string): Release {
  const read = (name: string) => gunzipSync(readFileSync(new URL(`${version}/${name}.gz`, folder)));
  return {
    version,
    contract: JSON.parse(read('openapi.json').toString()),
    promises: readFileSync(new URL(`${version}/promises.txt`, folder), 'utf8')
      .trim()
      .split('\n'),
    exported: read('export.jsonl').toString(),
    requests: JSON.parse(read('requests.json').toString()),
    async copyDatabase(test) {
      const path = newFile(test);
      writeFileSync(path, read('notes.db'));
      // Keys are kept for a day.
      const database = await openEmpty(test, path);
      const now = 'CAST(unixepoch() * 1000 AS INTEGER)';
      await change(database, `UPDATE notes_server_answers SET answered_at = ${now}`);
      await database.close();
      return path;
    },
  };
}

/** Steps as a next version could have them: fields, a table filled from records, a new trigger. */
export const NEXT_STEPS = [
  `ALTER TABLE notes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;

ALTER TABLE deleted_notes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;

CREATE INDEX notes_by_pinned ON notes (pinned);`,
  `CREATE TABLE note_lengths (
  -- The lengths of bodies.
  note_id INTEGER PRIMARY KEY,
  characters INTEGER NOT NULL
) STRICT;

INSERT INTO note_lengths SELECT id, length(body) FROM notes;`,
  `DROP TRIGGER changes_trimmed;

CREATE TRIGGER changes_trimmed AFTER INSERT ON changes WHEN new.number % 64 = 0 BEGIN
  -- Forgets old changes, and less at once.
  DELETE FROM changes WHERE number <= new.number - 1000000;
END;`,
];

/** What a service says that a step, which {@link nextVersion} names, comes next. */
export const PAUSE = 'paused before a step';

/** Returns flags of Node for a version with further steps, which can stop before one of them. */
export function nextVersion(test: Ends, steps = NEXT_STEPS, pausesBefore?: number): string[] {
  const module = join(temporaryFolder(test), 'next-version.mjs');
  const pause = `Object.defineProperty(STEPS, STEPS.length - ${steps.length} + ${pausesBefore}, {
    get() {
      writeSync(2, '${PAUSE}\\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  });`;
  writeFileSync(
    module,
    `import { writeSync } from 'node:fs';
    import { STEPS } from '${new URL('dist/src/storage/schema/steps.js', root)}';
    STEPS.push(...${JSON.stringify(steps)});
    ${pausesBefore === undefined ? '' : pause}`,
  );
  return ['--import', module];
}

/** Returns the records of an export, without its first line, which has the last change. */
export const recordsIn = (text: string) => text.split('\n').slice(1);

/** Asserts that a database has the records that a release has left. */
export async function assertHas(db: string, release: Release): Promise<void> {
  assert.deepEqual(recordsIn(await exported(db)), recordsIn(release.exported));
}

/** Later versions may add members. */
function assertHasMembers(found: unknown, wanted: unknown): void {
  const names = Object.keys(Object(wanted));
  const known = Object.entries(Object(found)).filter(([name]) => names.includes(name));
  assert.deepEqual(found && Object.fromEntries(known), wanted);
}

const idOf = ({ id }: { readonly id: number }) => id;

type Line = Readonly<Record<string, unknown>>;
type Send = (method: string, path: string, parts?: RequestParts) => Promise<Answer>;

/** Asserts that a service, which keeps its trash for a century, has what a release has left. */
export async function assertServes(send: Send, { exported: text, requests }: Release) {
  const get = async (path: string) => {
    const { status, json } = await send('GET', path);
    assert.equal(status, 200, path);
    return json;
  };
  const lines: Line[] = recordsIn(text).flatMap((line) => (line ? [JSON.parse(line)] : []));
  // Ids below 1 are shown in lists alone.
  const ofType = (...types: string[]) =>
    lines.filter(({ type, id }) => types.includes(String(type)) && Number(id ?? 1) > 0);
  for (const { type: _, number: __, ...note } of ofType('note'))
    assertHasMembers(await get(`/notes/${note.id}?include=times`), note);
  for (const { note_id, name } of ofType('note_name')) {
    const { id } = await get(`/named/${encodeURIComponent(String(name))}`);
    assert.equal(id, note_id, String(name));
  }
  const deleted = ofType('deleted_note').map(({ id }) => id);
  assert.deepEqual(new Set((await get('/trash?limit=100')).items.map(idOf)), new Set(deleted));
  for (const { note_id, version, title, body } of ofType('note_version')) {
    if (deleted.includes(note_id)) continue;
    const found = await get(`/notes/${note_id}/versions/${version}`);
    assert.deepEqual([found.title, found.body], [title, body]);
  }
  for (const { id, note_id, body } of ofType('comment'))
    if (!deleted.includes(note_id))
      assert.equal((await get(`/notes/${note_id}/comments/${id}`)).body, body);
  for (const tag of ofType('tag')) {
    assert.equal((await get(`/tags/${tag.id}`)).name, tag.name);
    const { total } = await get(`/tags/${tag.id}/notes`);
    assert.equal(total, ofType('note_tag').filter(({ tag_id }) => tag_id === tag.id).length);
  }
  // The words of these titles, in any script, are in the search index.
  for (const { id, title } of (await get('/notes?tag=script&limit=100')).items) {
    const found = await get(`/notes?limit=100&q=${encodeURIComponent(`"${title}"`)}`);
    assert.ok(found.items.map(idOf).includes(id), title);
  }
  for (const { method, path, key, json, status, body } of requests) {
    const headers = { 'idempotency-key': key };
    const answer = await send(method, path, { headers, json });
    assert.equal(answer.status, status, key);
    assertHasMembers(answer.json ?? null, body);
    assert.equal(answer.headers['idempotent-replayed'], 'true', key);
  }
}
