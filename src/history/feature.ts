// What changes and deletions of notes replace: the trash, and the versions of notes. Triggers keep
// it, so no write costs another statement.
import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import { violationAt } from '../contract/violations.ts';
import type { Core } from '../feature.ts';
import { notFound } from '../http/paths.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { RecordFeature } from '../records/feature.ts';
import { readAsked, type Verdict } from '../records/parts.ts';
import { preconditionFailed, stateHeaders, writeCondition } from '../records/preconditions.ts';
import { answerInJson, type Records } from '../records/route.ts';
import { notes } from '../resources/notes.ts';
import type { Database, Row } from '../storage/database.ts';
import { startErasure } from './erasure.ts';
import { LATEST, readKept, SETTINGS, TRASH, trashWith, VERSIONS, versionsInLists } from './kept.ts';
import { type KeptInput, listKept, type SlowQueue } from './kept-pages.ts';
import { startRetention, startThinning } from './retention.ts';
import { EMPTY_TRASH, ERASE_NOTE, ERASE_VERSIONS, onNote, onRows, RESTORE } from './writes.ts';

type AtNote<Content = unknown> = Input<{ readonly note_id: number }, Content>;
type AtVersion = Input<{ readonly note_id: number; readonly version: number }, unknown>;

const NOTE = '/notes/{note_id}';
const DELETED = '/trash/{note_id}';
const LABEL = 'Deleted note';

/** The trash and the versions, which are kept for some days; `slow` queues reads of deep pages. */
export function history(core: Core, slow: SlowQueue = { run: (read) => read() }): RecordFeature {
  const works = [startErasure(core), startRetention(core), startThinning(core)];
  return {
    inLists: versionsInLists,
    recordRoutes(handlersOf) {
      const records = handlersOf(notes);
      return [...trashRoutes(core, records, slow), ...versionRoutes(core, records, slow)];
    },
    close: async () => void (await Promise.all(works.map((end) => end()))),
  };
}

/** Sets for how many days texts are kept. If this fails, closes the database. */
export async function keepFor(days: number, database: Database): Promise<void> {
  const sql = `UPDATE ${SETTINGS} SET days = ?1 ->> '$'`;
  try {
    // Usually there is nothing to write, which a full disk would refuse.
    const [row] = await database.read({ sql: `SELECT days FROM ${SETTINGS}` });
    if (row?.days !== days) await database.transact([{ sql, parameter: String(days) }]);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function trashRoutes(core: Core, { basePath, served }: Records, slow: SlowQueue): Route[] {
  const { bases, answerRead = answerInJson } = served;

  async function list(input: KeptInput): Promise<Reply> {
    const kept = trashWith(input.parameters.title);
    return (await listKept(core.database, slow, kept, input, `${bases.baseUrl}/trash`)).reply;
  }

  async function read(input: AtNote): Promise<Reply> {
    const note = await readKept(core.database, TRASH, input.parameters.note_id);
    return note ? answerRead(input, note) : refuse(input, LABEL);
  }

  async function restore(input: AtNote): Promise<Reply> {
    const { note_id: id } = input.parameters;
    const { table } = served;
    const asked = readAsked(table.parts, { ...input, keyPath: `/trash/${id}/restore` });
    const outcome = await table.perform(RESTORE, { ...onNote(id), asked }, input.call);
    const { refusal, headers = [], earlier } = (outcome ?? {}) as Verdict;
    if (refusal) throw refusal;
    const note = earlier ? await table.read(id) : (outcome as Row | undefined);
    // After an earlier request with the key, it may be in the trash again.
    if (!note) return refuse(input, earlier ? notes.label : LABEL);
    const location = ['location', `${basePath}${notes.path}/${id}`, ...headers];
    return jsonReply(200, String(note.text), [...location, ...stateHeaders(String(note.tag))]);
  }

  async function eraseAll(): Promise<Reply> {
    await core.write(EMPTY_TRASH, onRows([0]));
    return { status: 204 };
  }

  return [
    endpoint('GET', '/trash', list),
    endpoint('DELETE', '/trash', eraseAll),
    endpoint('GET', DELETED, read),
    endpoint('DELETE', DELETED, eraser(core, ERASE_NOTE, LABEL)),
    endpoint('POST', `${DELETED}/restore`, restore),
  ];
}

function versionRoutes(core: Core, records: Records, slow: SlowQueue): Route[] {
  const { database } = core;
  const { table, bases, answerRead = answerInJson } = records.served;

  async function list(input: KeptInput): Promise<Reply> {
    const { note_id = 0 } = input.parameters;
    const url = `${bases.baseUrl}/notes/${note_id}/versions`;
    const { reply, total } = await listKept(database, slow, VERSIONS, input, url);
    if (total === 0 && !(await table.read(note_id))) return refuse(input);
    return reply;
  }

  async function read(input: AtVersion): Promise<Reply> {
    const { note_id, version } = input.parameters;
    const found = await readKept(database, VERSIONS, note_id, version);
    if (found) return answerRead(input, found);
    if (!(await table.read(note_id))) return refuse(input);
    throw notFound('Version', input.call.pathValues[1]);
  }

  async function restore(input: AtNote<{ readonly version: number }>): Promise<Reply> {
    const { note_id } = input.parameters;
    const found = await readKept(database, VERSIONS, note_id, input.body.version);
    // An empty patch is refused if the note is missing or if-match does not hold.
    const { title, body } = found ? JSON.parse(found.text) : {};
    const changed = { ...input, keyPath: `/notes/${note_id}/restore` };
    const reply = await records.patch({ ...changed, body: found ? { title, body } : {} });
    if (found || reply.headers?.includes('idempotent-replayed')) return reply;
    const [row] = await database.read({ sql: LATEST, parameter: JSON.stringify([note_id]) });
    const detail = `must be a version of the note, ${row?.texts}`;
    throw validationFailed([violationAt('/version', 'exists', detail)]);
  }

  return [
    endpoint('GET', `${NOTE}/versions`, list),
    endpoint('DELETE', `${NOTE}/versions`, eraser(core, ERASE_VERSIONS)),
    endpoint('GET', `${NOTE}/versions/{version}`, read),
    endpoint('POST', `${NOTE}/restore`, restore),
  ];
}

function eraser({ write }: Core, kind: typeof ERASE_VERSIONS, label?: string) {
  return async (input: AtNote): Promise<Reply> => {
    const { parameters, headers } = input;
    const note = await write(kind, onNote(parameters.note_id, writeCondition(headers)));
    if (!note) return refuse(input, label);
    if (!note.isErased) throw preconditionFailed(String(note.tag), headers);
    return { status: 204 };
  };
}

/** Throws the 404 for a note, or for one in the trash. */
function refuse({ call }: Input<unknown, unknown>, label = notes.label): never {
  throw notFound(label, call.pathValues[0]);
}
