// The operations on single records of a resource: create, read, replace, patch and delete.
import { createHash, hash } from 'node:crypto';
import { endpoint, type Input } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonLinesReply, jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { whenReady } from '../http/when-ready.ts';
import { type Link, patchOf, type Resource, valuesOf } from '../resources/resource.ts';
import { ownLinkOf } from '../resources/resources.ts';
import type { FreshMemory } from '../storage/batches/fresh-memory.ts';
import type { NewLink, Values } from '../storage/batches/writer.ts';
import type { MissingEnds, Once } from '../storage/records/compound-writes.ts';
import { type Condition, satisfies } from '../storage/records/condition.ts';
import type { Table } from '../storage/records/table.ts';
import type { Created, Stored } from '../storage/records/writes.ts';
import { type Bases, basePath } from './docs.ts';
import { linksIn, unknownLinks } from './link-member.ts';
import { listRoutes } from './lists.ts';
import { checkRead, preconditionFailed, stateHeaders, writeCondition } from './preconditions.ts';
import { fillTemplate, type Ids, notFound } from './record-paths.ts';

/** The header of an answer that repeats an earlier one. */
const REPLAYED = ['idempotent-replayed', 'true'];

/** A bulk request counts as one request, plus one for this many lines. */
const LINES_PER_REQUEST = 50;

/** The members to add to a record. */
interface Included {
  readonly include?: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns the routes of `resource`. The links between pages begin with `baseUrl`, the path of a
 * `location` header with its path.
 */
export function recordRoutes(
  resource: Resource,
  table: Table,
  ownerTable: Table | undefined,
  bases: Bases,
  memory: FreshMemory,
): Route[] {
  const records = new Records(resource, table, ownerTable, bases);
  const { path, idParameter } = resource;
  const recordPath = `${path}/{${idParameter}}`;
  return [
    ...listRoutes(resource, table, memory, bases),
    endpoint<Ids>('POST', path, (input) => records.create(input)),
    endpoint<Ids & Included>('GET', recordPath, (input) => records.read(input)),
    endpoint<Ids, Members>('PUT', recordPath, (input) => records.replace(input)),
    endpoint<Ids, Members>('PATCH', recordPath, (input) => records.patch(input)),
    endpoint<Ids>('DELETE', recordPath, (input) => records.remove(input)),
  ];
}

/** The handlers of one resource. */
class Records {
  readonly #resource: Resource;
  readonly #table: Table;
  readonly #ownerTable: Table | undefined;
  readonly #basePath: string;
  /** The link that bodies may set. */
  readonly #link: Link | undefined;

  constructor(resource: Resource, table: Table, ownerTable: Table | undefined, bases: Bases) {
    this.#resource = resource;
    this.#table = table;
    this.#ownerTable = ownerTable;
    this.#basePath = basePath(bases);
    this.#link = ownLinkOf(resource);
  }

  create(input: Input<Ids, unknown>): Promise<Reply> {
    return input.call.format === 'lines'
      ? this.#createAll(input, input.body as readonly Members[])
      : this.#createOne(input, input.body as Members);
  }

  async #createOne(input: Input<Ids, unknown>, members: Members): Promise<Reply> {
    const { id, tag, texts, headers } = await this.#store(input, [members]);
    const location = `${this.#collectionPath(input.parameters)}/${id}`;
    return jsonReply(201, texts[0] ?? '', ['location', location, ...stateHeaders(tag), ...headers]);
  }

  async #createAll(input: Input<Ids, unknown>, lines: readonly Members[]): Promise<Reply> {
    const charge = Math.floor(lines.length / LINES_PER_REQUEST);
    if (charge > 0) await input.call.charge(charge);
    const { texts, headers } = await this.#store(input, lines);
    const location = this.#collectionPath(input.parameters);
    return jsonLinesReply(201, texts, ['location', location, ...headers]);
  }

  /**
   * Stores the records in the bodies, unless a request with the same key has been answered.
   * Resolves with them and with headers for the answer; rejects with 404 or 422.
   */
  async #store({ parameters, headers, call }: Input<Ids, unknown>, bodies: readonly Members[]) {
    const records = bodies.map((members) => valuesOf(this.#resource, members));
    const ownerId = this.#ownerId(parameters);
    const key = headers['idempotency-key'];
    // Without the base path: a new --base-url must not turn a repetition into a first request.
    const once =
      key === undefined
        ? undefined
        : onceOf(key, fillTemplate(this.#resource.path, parameters), call);
    const links = linksIn(this.#link, bodies);
    const created: Created | undefined = links
      ? this.#checkLinks(await this.#table.createLinked(records, links, ownerId, once), links, call)
      : await this.#table.create(records, ownerId, once);
    if (!created) throw this.#ownerNotFound(call.pathValues);
    if (created.isReuse) throw keyReused();
    return { ...created, headers: created.isReplay ? REPLAYED : [] };
  }

  /** Returns the outcome of a write with links. Throws 422 if some of them name no record. */
  #checkLinks<Outcome extends object>(
    outcome: Outcome | MissingEnds | undefined,
    links: readonly NewLink[],
    { format }: Call,
  ): Outcome | undefined {
    if (!this.#link || !outcome || !('missing' in outcome)) return outcome as Outcome | undefined;
    throw unknownLinks(this.#link, links, outcome, format === 'lines');
  }

  read({ parameters, headers, call }: Input<Ids & Included, unknown>): Reply | Promise<Reply> {
    const { include } = parameters;
    const record = include ? this.#findWith(include, parameters) : this.#find(parameters);
    return whenReady(record, (found) =>
      found
        ? (checkRead(headers, found.tag) ?? recordReply(found))
        : this.#notFound(parameters, call).then((problem) => Promise.reject(problem)),
    );
  }

  /** Finds a record with additional members; its tag is that of a list. */
  async #findWith(include: readonly string[], ids: Ids): Promise<Stored | undefined> {
    const [id, owner] = [this.#id(ids), this.#ownerId(ids)];
    const page = await this.#table.page({ limit: 1, id, owner, include, asLines: true });
    return page?.items ? { text: String(page.items), tag: page.tag } : undefined;
  }

  replace(input: Input<Ids, Members>): Promise<Reply> {
    return this.#change(input, valuesOf(this.#resource, input.body));
  }

  async patch(input: Input<Ids, Members>): Promise<Reply> {
    const values = patchOf(this.#resource, input.body);
    const isEmpty = values.every((value) => value === null) && !linksIn(this.#link, [input.body]);
    if (!isEmpty) return this.#change(input, values);
    const condition = writeCondition(input.headers);
    const record = await this.#find(input.parameters);
    if (!record) throw await this.#notFound(input.parameters, input.call);
    if (!satisfies(condition, record.tag)) throw preconditionFailed(record.tag);
    return recordReply(record);
  }

  async #change(
    { parameters, headers, body, call }: Input<Ids, Members>,
    values: Values,
  ): Promise<Reply> {
    const condition = writeCondition(headers);
    const [id, ownerId] = [this.#id(parameters), this.#ownerId(parameters)];
    const links = linksIn(this.#link, [body]);
    const record = links
      ? this.#checkLinks(
          await this.#table.changeLinked(id, values, links, ownerId, condition),
          links,
          call,
        )
      : await this.#table.change(id, values, ownerId, condition);
    if (!record) throw await this.#refusal(parameters, condition, call);
    return recordReply(record);
  }

  async remove({ parameters, headers, call }: Input<Ids, unknown>): Promise<Reply> {
    const condition = writeCondition(headers);
    const ownerId = this.#ownerId(parameters);
    if (await this.#table.remove(this.#id(parameters), ownerId, condition)) return { status: 204 };
    throw await this.#refusal(parameters, condition, call);
  }

  #find(ids: Ids): Stored | Promise<Stored | undefined> {
    return this.#table.read(this.#id(ids), this.#ownerId(ids));
  }

  /** Resolves with the reason why a write found no record that satisfies its condition. */
  async #refusal(ids: Ids, condition: Condition, call: Call): Promise<Problem> {
    const record = condition === null ? undefined : await this.#find(ids);
    return record ? preconditionFailed(record.tag) : this.#notFound(ids, call);
  }

  #collectionPath(ids: Ids): string {
    return `${this.#basePath}${fillTemplate(this.#resource.path, ids)}`;
  }

  #id(ids: Ids): number {
    return ids[this.#resource.idParameter] ?? 0;
  }

  #ownerId(ids: Ids): number | undefined {
    const { owner } = this.#resource;
    return owner ? ids[owner.resource.idParameter] : undefined;
  }

  /** Returns the 404 for a missing owner, with the id in the form that was sent. */
  #ownerNotFound(sent: readonly string[]): Problem {
    const { owner, label } = this.#resource;
    return notFound(owner?.resource.label ?? label, sent[0]);
  }

  /** Resolves with the 404 for a missing record, or for its owner if that is missing too. */
  async #notFound(ids: Ids, { pathValues }: Call): Promise<Problem> {
    if (this.#ownerTable && !(await this.#ownerTable.read(this.#ownerId(ids) ?? 0)))
      return this.#ownerNotFound(pathValues);
    return notFound(this.#resource.label, pathValues.at(-1));
  }
}

function recordReply({ text, tag }: Stored): Reply {
  return jsonReply(200, text, stateHeaders(tag));
}

/** Scopes the key of a request to its client and path, and takes the fingerprint of its body. */
function onceOf(key: string, path: string, { client = '', format, bytes }: Call): Once {
  return {
    key: hash('sha256', JSON.stringify([client, path, key]), 'base64url'),
    fingerprint: createHash('sha256').update(format).update(bytes).digest('base64url'),
  };
}

function keyReused(): Problem {
  const detail = 'This idempotency key was used before, with a different body.';
  return new Problem('idempotency-key-reused', detail);
}
