// Notes at names that clients choose: a script writes to its note without keeping an id.
import { endpoint, type Input, type ReadBody } from '../contract/endpoint.ts';
import type { Core } from '../feature.ts';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { RecordInput } from '../records/parts.ts';
import type { Records } from '../records/route.ts';
import { notes } from '../resources/notes.ts';
import type { Members } from '../resources/resource.ts';
import { namesInLists } from './in-lists.ts';
import { createFinder, isTaken, namesOfNotes } from './named-notes.ts';
import { mendRawPath } from './raw-paths.ts';

type Named = Input<{ readonly name: string }, Members>;
type AtId = Input<{ readonly note_id: number }, Members> & Pick<RecordInput, 'at' | 'keyPath'>;

/** What can be done with a note at its path and a suffix. */
interface NamedOperation {
  readonly method: Route['method'];
  readonly suffix: string;
  readonly readBody?: ReadBody | undefined;
  /** Rejects with the 404 for a missing note. */
  perform(input: AtId): Promise<Reply>;
  /** Returns the note to create if none has the name; without it, the answer is 404. */
  newNote?(input: Named): Members;
}

/** What else a service has. */
interface Others {
  readonly operations?: readonly NamedOperation[];
  /** Resolves with the note of the first request with the same key, if there was one. */
  findAnswered?(input: Named, path: string): Promise<number | undefined>;
}

interface Finders {
  readonly find: ReturnType<typeof createFinder>;
  readonly findAnswered: Others['findAnswered'] | undefined;
}

/** The notes at their names; `operations` are what else can be done with them. */
export function names(
  core: Core,
  { operations: others = [], findAnswered }: Others = {},
): RecordFeature {
  const finders = { find: createFinder(core), findAnswered };
  return {
    inLists: namesInLists,
    inWrites: namesOfNotes,
    mend: mendRawPath,
    recordRoutes(handlersOf) {
      const records = handlersOf(notes);
      const { replace, patch, remove, served } = records;
      // The name in the path belongs to no body.
      const { readBody: read } = served;
      const readBody: typeof read =
        read &&
        ((call, { name: _, ...parameters }, violations) => read(call, parameters, violations));
      const newNote = ({ body }: Named) => body;
      const operations: readonly NamedOperation[] = [
        { method: 'GET', suffix: '', perform: (input) => readNamed(records, input) },
        { method: 'PUT', suffix: '', perform: replace, newNote, readBody },
        { method: 'PATCH', suffix: '', perform: patch },
        { method: 'DELETE', suffix: '', perform: remove },
        ...others,
      ];
      return operations.map((each) => {
        const answer = (input: Named) => performAt(input, each, records, finders);
        const route = endpoint(each.method, `/named/{name}${each.suffix}`, answer, each.readBody);
        return { ...route, takesRest: each.suffix === '' };
      });
    },
  };
}

async function readNamed({ read, basePath }: Records, input: AtId): Promise<Reply> {
  const reply = await read(input);
  const location = `${basePath}${notes.path}/${input.parameters.note_id}`;
  return { ...reply, headers: [...(reply.headers ?? []), 'content-location', location] };
}

/** Performs an operation; repeats this if another request creates or deletes the note. */
async function performAt(
  sent: Named,
  { suffix, perform, newNote }: NamedOperation,
  { create }: Records,
  { find, findAnswered }: Finders,
): Promise<Reply> {
  const name = sent.parameters.name.normalize();
  const { body, headers, call } = sent;
  const input = { parameters: { ...sent.parameters, name }, body, headers, call };
  const path = `/named/${name}${suffix}`;
  const findFirst = () => findAnswered?.(input, path);
  for (let isFirst = true; ; isFirst = false) {
    const found = await find(name, isFirst);
    try {
      const id = found ?? (await findFirst());
      if (id === undefined) {
        if (!newNote) throw noNote(name);
        if (headers['if-match']) throw notToReplace(name);
        const note = { ...newNote(input), name };
        const reply = await create({ parameters: {}, body: note, headers, call, keyPath: path });
        if (!reply.headers?.includes('idempotent-replayed')) return reply;
        // The first request was carried out meanwhile.
        continue;
      }
      const parameters = { ...input.parameters, note_id: id };
      // That of a first request may have lost the name.
      const at = found === undefined ? undefined : name;
      const reply = await perform({ ...input, parameters, at, keyPath: path });
      // For the log.
      return { ...reply, createdIds: { note_id: id, ...reply.createdIds } };
    } catch (error) {
      const isNew = found === undefined;
      const isMissing = error instanceof Problem && error.slug === 'not-found';
      if (isMissing && isNew) throw noNote(name);
      if (!isMissing && !(isNew && error instanceof Problem && isTaken(error))) throw error;
      // Memory was out of date, or another request has created or deleted the note meanwhile.
      if (!isFirst && isMissing && (await findFirst()) !== undefined) throw noteOfKeyIsGone();
    }
  }
}

function noteOfKeyIsGone(): Problem {
  const detail =
    'The first request with this idempotency key was carried out, and its note has been deleted ' +
    'since. For another change, use another key.';
  return new Problem('not-found', detail);
}

function noNote(name: string): Problem {
  return new Problem('not-found', `No note is named ${name}.`);
}

function notToReplace(name: string): Problem {
  const detail = `${noNote(name).message} Leave out if-match to create it.`;
  return new Problem('precondition-failed', detail);
}
