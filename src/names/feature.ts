// Notes at names that clients choose: a script writes to its note without keeping an id.
import { endpoint, type Input, type ReadBody } from '../contract/endpoint.ts';
import type { Core } from '../feature.ts';
import type { Bases } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { Records } from '../records/route.ts';
import { notes } from '../resources/notes.ts';
import type { Members, Resource } from '../resources/resource.ts';
import { namesInLists } from './in-lists.ts';
import { createFinder, NAME_TAKEN, namesOfNotes } from './named-notes.ts';

type Named<Content = Members> = Input<{ readonly name: string }, Content>;
type AtId<Content = Members> = Input<{ readonly note_id: number }, Content>;
type Change<Content = Members> = (input: AtId<Content>) => Promise<Reply | undefined>;
type Text = { readonly text: string };
type Places = { readonly old_text: string; readonly new_text: string };

/** What appends to a note and edits it at another path; undefined if there is no such note. */
interface Edits {
  readonly append: (input: AtId<Text>, path: string) => Promise<Reply | undefined>;
  readonly edit: (input: AtId<Places>, path: string) => Promise<Reply | undefined>;
  readonly readText: ReadBody;
  /** Throws 422 for a text that would be a blank body. */
  readonly refuseBlank: (text: string, call: Call) => void;
}

const PATH = '/named/{name}';

/** The notes at their names. */
export function names(
  core: Core,
  handlersOf: (resource: Resource, bases: Bases) => Records,
  edits?: Edits,
): RecordFeature {
  const find = createFinder(core);
  return {
    inLists: namesInLists,
    inWrites: namesOfNotes,
    routes(bases) {
      const records = handlersOf(notes, bases);
      const named = new NamedNotes(records, find);
      const replace = unlessMissing(records.replace);
      const patch = unlessMissing(records.patch);
      const remove = unlessMissing(records.remove);
      const put = (input: Named) => named.write(input, () => input.body, replace);
      return [
        endpoint('GET', PATH, named.read),
        endpoint('PUT', PATH, put, records.served.readBody),
        endpoint('PATCH', PATH, (input: Named) => named.change(input, patch)),
        endpoint('DELETE', PATH, (input: Named) => named.change(input, remove)),
        ...(edits ? editRoutes(named, edits) : []),
      ];
    },
  };
}

function editRoutes(named: NamedNotes, { append, edit, readText, refuseBlank }: Edits): Route[] {
  const appendTo = (input: Named<Text>) => {
    const { name } = input.parameters;
    const path = `/named/${name}/append`;
    const newNote = () => {
      refuseBlank(input.body.text, input.call);
      return { title: name, body: input.body.text };
    };
    return named.write(input, newNote, (target) => append(target, path), path);
  };
  const editAt = (input: Named<Places>) =>
    named.change(input, (target) => edit(target, `/named/${input.parameters.name}/edit`));
  return [
    endpoint('POST', `${PATH}/append`, appendTo, readText),
    endpoint('POST', `${PATH}/edit`, editAt),
  ];
}

class NamedNotes {
  readonly #notes: Records;
  readonly #find: ReturnType<typeof createFinder>;

  constructor(records: Records, find: ReturnType<typeof createFinder>) {
    this.#notes = records;
    this.#find = find;
  }

  /** Returns the note at once if it is in memory: a promise would cost more time. */
  readonly read = (input: Named): Reply | Promise<Reply> => {
    const id = this.#find(input.parameters.name);
    return typeof id === 'number'
      ? this.#readAt(input, id)
      : id.then((found) => this.#readAt(input, found));
  };

  #readAt(input: Named, id: number | undefined): Reply | Promise<Reply> {
    const { name } = input.parameters;
    if (id === undefined) throw noNote(name);
    const location = ['content-location', `${this.#notes.basePath}${notes.path}/${id}`];
    const answer = (found: Reply | undefined) => {
      if (!found) throw noNote(name);
      return { ...found, headers: [...(found.headers ?? []), ...location] };
    };
    const reply = this.#notes.read(atId(input, id));
    return reply instanceof Promise
      ? unlessMissing(() => reply)(input).then(answer)
      : answer(reply);
  }

  /** Creates the note, or changes it; repeats this if another request does the opposite. */
  async write<Content>(
    input: Named<Content>,
    newNote: () => Members,
    change: Change<Content>,
    keyPath?: string,
  ): Promise<Reply> {
    const { name } = input.parameters;
    for (let isFirst = true; ; isFirst = false) {
      const id = await this.#find(name, isFirst);
      if (id === undefined && input.headers['if-match'] !== undefined) throw noMatch(name);
      try {
        if (id === undefined) {
          const body = { ...newNote(), name };
          const reply = await this.#notes.create({ ...input, parameters: {}, body }, keyPath);
          if (!reply.headers?.includes('idempotent-replayed')) return reply;
          // The first request may have changed another note, which may be deleted.
          return await this.change(input, change, Number(reply.createdIds?.note_id));
        }
        const changed = await change(atId(input, id));
        if (changed) return written(changed, id);
      } catch (error) {
        if (error !== NAME_TAKEN) throw error;
      }
    }
  }

  /** Changes the note with the name. Rejects with 404. */
  async change<Content>(
    input: Named<Content>,
    change: Change<Content>,
    id = this.#find(input.parameters.name),
  ): Promise<Reply> {
    const found = await id;
    const reply = found === undefined ? undefined : await change(atId(input, found));
    if (found === undefined || !reply) throw noNote(input.parameters.name);
    return written(reply, found);
  }
}

function atId<Content>(input: Named<Content>, id: number): AtId<Content> {
  const { name: _, ...others } = input.parameters;
  return { ...input, parameters: { ...others, note_id: id } };
}

/** Adds the id of the note for the log. */
function written(reply: Reply, id: number): Reply {
  return { ...reply, createdIds: { note_id: id, ...reply.createdIds } };
}

/** Makes a handler resolve with undefined instead of the 404 of a note. */
function unlessMissing<Target>(handle: (target: Target) => Promise<Reply>) {
  return (target: Target): Promise<Reply | undefined> =>
    handle(target).catch((error) => {
      if (error instanceof Problem && error.slug === 'not-found') return undefined;
      throw error;
    });
}

function noNote(name: string): Problem {
  return new Problem('not-found', `No note is named ${name}.`);
}

function noMatch(name: string): Problem {
  return new Problem('precondition-failed', `No note is named ${name}, so if-match cannot hold.`);
}
