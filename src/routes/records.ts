// The operations on the records of a resource: list, create, read, replace and delete.
import { endpoint, type Input } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { type Resource, valuesOf } from '../resources/resource.ts';
import { recordText } from '../storage/record-text.ts';
import type { Table } from '../storage/table.ts';

/** The query of a list. */
interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

type Ids = Readonly<Record<string, number>>;
type Members = Readonly<Record<string, unknown>>;

/** Returns the routes of `resource`. The path of a `location` header begins with `basePath`. */
export function recordRoutes(
  resource: Resource,
  table: Table,
  ownerTable?: Table,
  basePath = '',
): Route[] {
  const records = new Records(resource, table, ownerTable, basePath);
  const { path, idParameter } = resource;
  const recordPath = `${path}/{${idParameter}}`;
  return [
    endpoint<PageQuery & Ids>('GET', path, (input) => records.list(input)),
    endpoint<Ids, Members>('POST', path, (input) => records.create(input)),
    endpoint<Ids>('GET', recordPath, (input) => records.read(input)),
    endpoint<Ids, Members>('PUT', recordPath, (input) => records.replace(input)),
    endpoint<Ids>('DELETE', recordPath, (input) => records.remove(input)),
  ];
}

/** The handlers of one resource. */
class Records {
  readonly #resource: Resource;
  readonly #table: Table;
  readonly #ownerTable: Table | undefined;
  readonly #basePath: string;

  constructor(resource: Resource, table: Table, ownerTable: Table | undefined, basePath: string) {
    this.#resource = resource;
    this.#table = table;
    this.#ownerTable = ownerTable;
    this.#basePath = basePath;
  }

  async list({ parameters, call }: Input<PageQuery & Ids, unknown>): Promise<Reply> {
    const { limit, offset } = parameters;
    const ownerId = this.#ownerId(parameters);
    const page = await this.#table.page(limit, offset, ownerId, call.ensureSendable);
    if (!page) throw this.#ownerNotFound(call.pathValues);
    const { items, total } = page;
    return jsonReply(
      200,
      `{"items":${items},"limit":${limit},"offset":${offset},"total":${total}}`,
    );
  }

  async create({ parameters, body, call }: Input<Ids, Members>): Promise<Reply> {
    const values = valuesOf(this.#resource, body);
    const ownerId = this.#ownerId(parameters);
    const id = await this.#table.create(values, ownerId);
    if (id === undefined) throw this.#ownerNotFound(call.pathValues);
    const location = `${this.#basePath}${fillTemplate(this.#resource.path, parameters)}/${id}`;
    return jsonReply(201, recordText(this.#resource, id, ownerId, values), ['location', location]);
  }

  async read({ parameters, call }: Input<Ids, unknown>): Promise<Reply> {
    const record = await this.#table.read(this.#id(parameters), this.#ownerId(parameters));
    if (record === undefined) throw await this.#notFound(parameters, call.pathValues);
    return jsonReply(200, record);
  }

  async replace({ parameters, body, call }: Input<Ids, Members>): Promise<Reply> {
    const id = this.#id(parameters);
    const ownerId = this.#ownerId(parameters);
    const values = valuesOf(this.#resource, body);
    const isReplaced = await this.#table.replace(id, values, ownerId);
    if (!isReplaced) throw await this.#notFound(parameters, call.pathValues);
    return jsonReply(200, recordText(this.#resource, id, ownerId, values));
  }

  async remove({ parameters, call }: Input<Ids, unknown>): Promise<Reply> {
    const isRemoved = await this.#table.remove(this.#id(parameters), this.#ownerId(parameters));
    if (!isRemoved) throw await this.#notFound(parameters, call.pathValues);
    return { status: 204 };
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
  async #notFound(ids: Ids, sent: readonly string[]): Promise<Problem> {
    const owner = this.#ownerTable && (await this.#ownerTable.read(this.#ownerId(ids) ?? 0));
    const isOrphan = this.#ownerTable !== undefined && owner === undefined;
    return isOrphan ? this.#ownerNotFound(sent) : notFound(this.#resource.label, sent.at(-1));
  }
}

function notFound(label: string, sent: string | undefined): Problem {
  return new Problem('not-found', `${label} with ID ${sent} was not found.`);
}

/** Replaces the parameters of a path template with their values. */
function fillTemplate(template: string, ids: Ids): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
}
