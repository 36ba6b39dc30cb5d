// The operations on single records of a resource: create, read, replace, patch and delete.
import { endpoint, type Input, type ReadBody } from '../contract/endpoint.ts';
import { JSON_LINES } from '../http/body/formats.ts';
import { type Bases, basePath, fillTemplate, type Ids, notFound } from '../http/paths.ts';
import type { Problem } from '../http/problem.ts';
import { jsonReply, type Reply, type WrittenIds } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { type Members, patchOf, type Resource, valuesOf } from '../resources/resource.ts';
import type { Values } from '../storage/writer.ts';
import { type Condition, satisfies } from './condition.ts';
import { NOTHING, type RecordInput, readAsked, type Verdict } from './parts.ts';
import { checkRead, preconditionFailed, stateHeaders, writeCondition } from './preconditions.ts';
import type { Table } from './table.ts';
import type { Choice } from './text.ts';
import type { Stored } from './writes.ts';

/** A bulk request counts as one request, plus one for this many lines. */
const LINES_PER_REQUEST = 50;

type ChangeInput = RecordInput & Input<Ids, Members>;
type ReadInput = Input<Ids & Partial<Choice>, unknown>;

/** Reads a record with chosen members; its tag is that of a list if others can change them. */
export type ReadChosen = (
  resource: Resource,
  key: { readonly id: number; readonly owner: number | undefined },
  choice: Choice,
) => Stored | undefined | Promise<Stored | undefined>;

/** The texts that stand for the records of a resource. */
export interface Texts {
  readonly readBody: ReadBody;
  /** Answers a read in the form that the client prefers. */
  readonly answerRead: typeof answerInJson;
}

/** A resource, and what its routes work with. */
interface Served extends Partial<Texts> {
  readonly resource: Resource;
  readonly table: Table;
  readonly ownerTable: Table | undefined;
  /** Without it, records have only their own members. */
  readonly readChosen: ReadChosen | undefined;
  readonly bases: Bases;
}

/** Returns the routes of a resource. */
export function recordRoutes({ create, read, replace, patch, remove, served }: Records): Route[] {
  const { readBody, resource } = served;
  const { path, idParameter } = resource;
  const recordPath = `${path}/{${idParameter}}`;
  return [
    endpoint('POST', path, create, readBody),
    endpoint('GET', recordPath, read),
    endpoint('PUT', recordPath, replace, readBody),
    endpoint('PATCH', recordPath, patch),
    endpoint('DELETE', recordPath, remove),
  ];
}

/** The handlers of a resource. */
export class Records {
  readonly served: Served;
  readonly basePath: string;

  constructor(served: Served) {
    this.served = served;
    this.basePath = basePath(served.bases);
  }

  readonly create = async (input: RecordInput): Promise<Reply> => {
    const { resource, table } = this.served;
    const { parameters, body, call } = input;
    const isBulk = call.format === 'lines';
    const bodies = (isBulk ? body : [body]) as readonly Members[];
    const { owner } = this.#keyOf(input);
    const path = owner === undefined ? resource.path : fillTemplate(resource.path, parameters);
    const asked = readAsked(table.parts, input, path);
    // Before anything is stored: a request must not be refused in the middle.
    let lines = bodies.length;
    if (isBulk) for (const each of Object.values(asked)) lines += each.lines ?? 0;
    const charge = Math.floor(lines / LINES_PER_REQUEST);
    if (charge > 0) await call.charge(charge);
    const records = bodies.map((each) => valuesOf(resource, each));
    const created = await table.create(records, owner, asked, call);
    if (!created) throw this.#ownerNotFound(call);
    const { id, tag, texts, headers = [], refusal } = created;
    if (refusal) throw refusal;
    const location = `${this.basePath}${path}`;
    const ids = texts.length === 1 ? id : ([id, id + texts.length - 1] as const);
    const createdIds = { [resource.idParameter]: ids, ...created.createdIds };
    if (isBulk) {
      const all = ['content-type', JSON_LINES, 'location', location, ...headers];
      return { status: 201, headers: all, body: `${texts.join('\n')}\n`, createdIds };
    }
    const all = ['location', `${location}/${id}`, ...stateHeaders(tag), ...headers];
    return jsonReply(201, texts[0] ?? '', all, createdIds);
  };

  /** Returns the record at once if it is in memory: a promise would cost more time. */
  readonly read = (input: ReadInput): Reply | Promise<Reply> => {
    const { fields = [], include = [], body_offset, body_limit } = input.parameters;
    const { readChosen, resource, table, answerRead = answerInJson } = this.served;
    const { id, owner } = this.#keyOf(input);
    const isPart = (body_offset ?? body_limit) !== undefined;
    const isChosen = readChosen && (fields.length > 0 || include.length > 0 || isPart);
    const record = isChosen
      ? readChosen(resource, { id, owner }, { fields, include, body_offset, body_limit })
      : table.read(id, owner);
    // Only JSON has members to choose.
    const answerFound = isChosen ? answerInJson : answerRead;
    const answer = (found: Stored | undefined) =>
      found ? answerFound(input, found) : this.#refuse(input);
    return record instanceof Promise ? record.then(answer) : answer(record);
  };

  readonly replace = (input: ChangeInput): Promise<Reply> =>
    this.#change(input, valuesOf(this.served.resource, input.body));

  readonly patch = (input: ChangeInput): Promise<Reply> =>
    this.#change(input, patchOf(this.served.resource, input.body));

  async #change(input: ChangeInput, values: Values): Promise<Reply> {
    const { resource, table } = this.served;
    const key = this.#keyOf(input);
    const condition = writeCondition(input.headers);
    const asked = readAsked(table.parts, input);
    // An empty patch changes nothing, not even the tag.
    const isEmpty = asked === NOTHING && values.every((value) => value === null);
    const outcome: (Partial<Stored> & Verdict) | undefined = isEmpty
      ? await table.read(key.id, key.owner)
      : await table.change(key, values, condition, asked, input.call);
    const { refusal, earlier, headers, createdIds } = outcome ?? {};
    if (refusal) throw refusal;
    const { text, tag } = (earlier ? await table.read(earlier.id, key.owner) : outcome) ?? {};
    if (text === undefined || tag === undefined || (isEmpty && !satisfies(condition, tag)))
      return this.#refuse(input, condition);
    const ids = earlier ? { [resource.idParameter]: earlier.id } : createdIds;
    return recordReply({ text, tag }, ids, headers);
  }

  readonly remove = async (input: RecordInput): Promise<Reply> => {
    const { resource, table } = this.served;
    const condition = writeCondition(input.headers);
    const asked = readAsked(table.parts, input);
    const removed = await table.remove(this.#keyOf(input), condition, asked);
    if (!removed) return this.#refuse(input, condition);
    if (removed === true) return { status: 204 };
    const { refusal, headers = [], earlier } = removed;
    if (refusal) throw refusal;
    return { status: 204, headers, createdIds: { [resource.idParameter]: earlier?.id ?? 0 } };
  };

  /** Rejects with the reason why there is no record, or none that satisfies the condition. */
  async #refuse(input: RecordInput, condition: Condition = null): Promise<never> {
    const { headers, call } = input;
    const { resource, table, ownerTable } = this.served;
    const { id, owner } = this.#keyOf(input);
    const record = condition === null ? undefined : await table.read(id, owner);
    if (record) throw preconditionFailed(record.tag, headers);
    // Name the outermost record that is missing.
    if (ownerTable && !(await ownerTable.read(owner ?? 0))) throw this.#ownerNotFound(call);
    throw notFound(resource.label, call.pathValues.at(-1));
  }

  #ownerNotFound({ pathValues }: Call): Problem {
    return notFound(this.served.resource.owner?.resource.label ?? '', pathValues[0]);
  }

  #keyOf({ parameters: ids, at }: RecordInput) {
    const { idParameter, owner } = this.served.resource;
    return { id: ids[idParameter] ?? 0, owner: owner && ids[owner.resource.idParameter], at };
  }
}

/** Answers a read with JSON. */
export function answerInJson({ headers }: Input<unknown, unknown>, record: Stored): Reply {
  return checkRead(headers, record.tag) ?? recordReply(record);
}

function recordReply({ text, tag }: Stored, ids?: WrittenIds, added: readonly string[] = []) {
  return jsonReply(200, text, [...stateHeaders(tag), ...added], ids);
}
