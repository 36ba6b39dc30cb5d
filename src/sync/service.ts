// The notes of a service that belong to the folder, by their path in it.
import { randomUUID } from 'node:crypto';
import { type Call, foreignAnswer, objectIn } from './client.ts';
import { hashOf, isSynced, type Selection } from './notes.ts';

export interface Service extends Selection {
  readonly call: Call;
}

/** A note; its body and the hash of this are known once they have been read. */
export interface Note {
  readonly id: number;
  readonly path: string;
  readonly etag: string;
  readonly hash?: string;
  readonly body?: string;
}

/** A note to create. */
export interface Draft {
  readonly path: string;
  readonly text: string;
  readonly title: string;
  readonly tags: readonly string[];
}

/** What changed since a cursor. */
export interface Changes {
  /** Behind these changes. */
  readonly cursor: string;
  /** By id, the notes as they are now; undefined for one that is not in the folder any more. */
  readonly notes: ReadonlyMap<number, Note | undefined>;
  /** The entity tags with which notes were created. */
  readonly created: ReadonlyMap<number, string>;
}

const MEMBERS = 'include=name,etag&fields=id';
const CHANGES =
  'limit=1000&type=note.created,note.updated,note.deleted&include=record,name,etag&fields=id';
const PAGE = 100;

/** Returns which service a cursor or an entity tag is of; a restored one is another one. */
export function generationOf(mark: string): string {
  return mark.replace(/^"|-.*/gs, '');
}

/** Resolves with the cursor behind the last change. */
export async function readCursor({ call }: Service): Promise<string> {
  return cursorIn(objectIn((await call('GET', '/changes')).body));
}

/** Resolves with what changed; undefined if the log of changes does not have all of it. */
export async function readChanges(service: Service, since: string): Promise<Changes | undefined> {
  const notes = new Map<number, Note | undefined>();
  const created = new Map<number, string>();
  for (let cursor = since; ; ) {
    const target = `/changes?since=${cursor}&${CHANGES}`;
    const { status, body } = await service.call('GET', target, { expected: [410] });
    if (status === 410) return undefined;
    const page = objectIn(body);
    for (const { type, id, note_id: noteId, record } of itemsIn(page)) {
      notes.set(Number(noteId), record === null ? undefined : noteOf(service, record));
      if (type === 'note.created') created.set(Number(noteId), `"${id}"`);
    }
    cursor = cursorIn(page);
    if (page.more !== true) return { cursor, notes, created };
  }
}

/** Yields all notes of the folder with their bodies. */
export async function* readAll(service: Service): AsyncGenerator<Note> {
  const { prefix, call } = service;
  const filter = prefix ? `folder=${encodeURIComponent(prefix.slice(0, -1))}` : 'named=true';
  for (let after = 0, isLast = false; !isLast; ) {
    const target = `/notes?${filter}&${MEMBERS},body&limit=${PAGE}&after=${after}`;
    const items = itemsIn(objectIn((await call('GET', target)).body));
    for (const item of items) {
      const note = noteOf(service, item);
      if (note) yield note;
      after = Number(item.id);
    }
    isLast = items.length < PAGE;
  }
}

/** Resolves with the note at a path or id, with its body; undefined if the folder has none. */
export async function readNote(service: Service, at: string | number): Promise<Note | undefined> {
  const target = typeof at === 'number' ? `/notes/${at}` : pathOf(service, at);
  const read = await service.call('GET', `${target}?${MEMBERS},body`, { expected: [404] });
  return read.status === 404 ? undefined : noteOf(service, objectIn(read.body));
}

/** Creates notes, or none; resolves with their ids, or undefined if a path is not free. */
export async function createNotes(service: Service, drafts: readonly Draft[]) {
  const lines = drafts.map(({ path, text: body, title, tags }) =>
    JSON.stringify({ title, body, name: `${service.prefix}${path}`, tags }),
  );
  const { status, body } = await service.call('POST', '/notes', {
    body: lines.join('\n'),
    headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': randomUUID() },
    expected: [403, 413, 422],
  });
  if (status === 201) {
    const ids = body.split('\n', lines.length).map((line) => objectIn(line).id);
    if (ids.filter(Number.isInteger).length === lines.length) return ids;
    throw foreignAnswer();
  }
  if (lines.length > 1 || body.includes('"taken"')) return undefined;
  throw new Error(String(objectIn(body).detail));
}

/** Changes the note with this tag; resolves with its new tag, or undefined if it has another. */
export async function changeNote(
  service: Service,
  path: string,
  change: Readonly<Record<string, unknown>>,
  etag: string,
): Promise<string | undefined> {
  const answer = await service.call('PATCH', pathOf(service, path), {
    body: JSON.stringify(change),
    headers: { 'content-type': 'application/json', 'if-match': etag },
    expected: [404, 412],
  });
  if (answer.status !== 200) return undefined;
  if (generationOf(answer.etag) !== generationOf(etag)) throw foreignAnswer();
  return answer.etag;
}

/** Deletes the note with this tag; resolves with whether it is gone. */
export async function deleteNote(service: Service, path: string, etag: string): Promise<boolean> {
  const parts = { headers: { 'if-match': etag }, expected: [404, 412] };
  return (await service.call('DELETE', pathOf(service, path), parts)).status !== 412;
}

function pathOf({ prefix }: Service, path: string): string {
  return `/named/${`${prefix}${path}`.split('/').map(encodeURIComponent).join('/')}`;
}

/** Returns a record as a note; undefined if it is none of the folder. */
function noteOf(service: Service, record: unknown): Note | undefined {
  const { id, name, etag, body } = Object(record);
  if (typeof id !== 'number' || typeof etag !== 'string') throw foreignAnswer();
  if (typeof name !== 'string' || !name.startsWith(service.prefix)) return undefined;
  const path = name.slice(service.prefix.length);
  if (!isSynced(path, service)) return undefined;
  return { id, path, etag, ...(typeof body === 'string' && { body, hash: hashOf(body) }) };
}

function cursorIn({ next }: Readonly<Record<string, unknown>>): string {
  if (typeof next !== 'string') throw foreignAnswer();
  return next;
}

function itemsIn({ items }: Readonly<Record<string, unknown>>) {
  if (!Array.isArray(items)) throw foreignAnswer();
  return items.map((item): Readonly<Record<string, unknown>> => Object(item));
}
