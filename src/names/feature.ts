// Notes at names that clients choose: a script writes to its note without keeping an id.
import { endpoint, type Input } from '../contract/endpoint.ts';
import type { Core, Feature } from '../feature.ts';
import type { Bases } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Records } from '../records/route.ts';
import { notes } from '../resources/notes.ts';
import type { Members, Resource } from '../resources/resource.ts';
import { namesInLists } from './in-lists.ts';
import { createFinder, NAME_TAKEN } from './named-notes.ts';

type Named = Input<{ readonly name: string }, Members>;
type AtId = Input<{ readonly note_id: number }, Members>;

const PATH = '/named/{name}';

/** The notes at their names. */
export function names(
  core: Core,
  handlersOf: (resource: Resource, bases: Bases) => Records,
): Feature {
  const find = createFinder(core);
  return {
    inLists: namesInLists,
    routes(bases) {
      const records = handlersOf(notes, bases);
      const named = new NamedNotes(records, find);
      return [
        endpoint('GET', PATH, named.read),
        endpoint('PUT', PATH, named.put, records.served.readBody),
        endpoint('PATCH', PATH, named.patch),
        endpoint('DELETE', PATH, named.remove),
      ];
    },
  };
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
    const answer = (reply: Reply) => ({
      ...reply,
      headers: [...(reply.headers ?? []), ...location],
    });
    const reply = this.#notes.read(atId(input, id));
    return reply instanceof Promise ? named(reply, name).then(answer) : answer(reply);
  }

  /** Creates the note, or replaces it; repeats this if another request does the opposite. */
  readonly put = async (input: Named): Promise<Reply> => {
    const { parameters, headers, body } = input;
    const { name } = parameters;
    for (let isFirst = true; ; isFirst = false) {
      const id = await this.#find(name, isFirst);
      if (id === undefined && headers['if-match'] !== undefined) throw noMatch(name);
      try {
        if (id !== undefined) return written(await this.#notes.replace(atId(input, id)), id);
        return await this.#notes.create({ ...input, parameters: {}, body: { ...body, name } });
      } catch (error) {
        if (error !== NAME_TAKEN && !isNotFound(error)) throw error;
      }
    }
  };

  readonly patch = (input: Named): Promise<Reply> => this.#change(input, this.#notes.patch);

  readonly remove = (input: Named): Promise<Reply> => this.#change(input, this.#notes.remove);

  async #change(input: Named, change: (input: AtId) => Promise<Reply>): Promise<Reply> {
    const { name } = input.parameters;
    const id = await this.#find(name);
    if (id === undefined) throw noNote(name);
    return written(await named(change(atId(input, id)), name), id);
  }
}

function atId(input: Named, id: number): AtId {
  const { name: _, ...others } = input.parameters;
  return { ...input, parameters: { ...others, note_id: id } };
}

/** Adds the id of the note for the log. */
function written(reply: Reply, id: number): Reply {
  return { ...reply, createdIds: { note_id: id, ...reply.createdIds } };
}

/** Makes the 404 of a note one of its name. */
async function named(reply: Promise<Reply>, name: string): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    throw isNotFound(error) ? noNote(name) : error;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Problem && error.slug === 'not-found';
}

function noNote(name: string): Problem {
  return new Problem('not-found', `No note is named ${name}.`);
}

function noMatch(name: string): Problem {
  return new Problem('precondition-failed', `No note is named ${name}, so if-match cannot hold.`);
}
