// The create/read/update/delete pattern, once. A collection declares its path, its fields and its parent; the five
// operations of specification sections 4.1 to 4.3 follow from that.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { TableShape } from '../storage/shape.ts';
import type { Table } from '../storage/table.ts';

/** A collection of records: how its paths look, what a record is called, and where its records are kept. */
export interface Collection {
  /** What a person calls one of its records, as in "Note with ID 42 was not found." */
  readonly label: string;
  /** The template of the collection's path. */
  readonly path: string;
  /** The name of the path parameter that names one record. */
  readonly idParameter: string;
  readonly shape: TableShape;
  /** The collection whose records own these; its id parameter stands in `path`. */
  readonly parent?: Collection;
}

/** The query of a list: how many records at most, and how many to skip. */
interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

type Ids = Readonly<Record<string, number>>;
type Texts = Readonly<Record<string, string>>;

/**
 * Returns the routes of `collection`, whose records are in `table` and whose parents are in `parentTable`. `basePath`
 * stands before the path in `location`.
 */
export function collectionRoutes(collection: Collection, table: Table, parentTable?: Table, basePath = ''): Route[] {
  const { label, path, idParameter, shape, parent } = collection;
  const recordPath = `${path}/{${idParameter}}`;

  const parentId = (ids: Ids) => (parent ? ids[parent.idParameter] : undefined);
  const recordId = (ids: Ids) => ids[idParameter] ?? 0;
  const textsOf = (body: Texts) => shape.columns.map((column) => body[column] ?? '');

  /** The record as it is sent: its id, its parent's, and its texts in the order of the columns. */
  function recordText(id: number, ids: Ids, body: Texts): string {
    const owner = shape.parent ? `,"${shape.parent.column}":${parentId(ids)}` : '';
    const texts = shape.columns.map((column) => `,"${column}":${JSON.stringify(body[column])}`);
    return `{"id":${id}${owner}${texts.join('')}}`;
  }

  /** The 404 where the parent is missing. Ids are told as they were sent. */
  const parentMissing = (sent: readonly string[]) => notFound(parent?.label ?? label, sent[0]);

  /** The 404 for a record: of its parent if that is missing as well. */
  async function missing(ids: Ids, sent: readonly string[]): Promise<Problem> {
    const orphan = parentTable && (await parentTable.read(parentId(ids) ?? 0)) === undefined;
    return orphan ? parentMissing(sent) : notFound(label, sent.at(-1));
  }

  return [
    endpoint<PageQuery & Ids>('GET', path, async ({ parameters, call }) => {
      const { limit, offset } = parameters;
      const page = await table.page(limit, offset, parentId(parameters), call.ensureWanted);
      if (!page) throw parentMissing(call.path);
      return jsonReply(200, `{"items":${page.items},"limit":${limit},"offset":${offset},"total":${page.total}}`);
    }),

    endpoint<Ids, Texts>('POST', path, async ({ parameters, body, call }) => {
      const id = await table.create(textsOf(body), parentId(parameters));
      if (id === undefined) throw parentMissing(call.path);
      const location = `${basePath}${fill(path, parameters)}/${id}`;
      return jsonReply(201, recordText(id, parameters, body), ['location', location]);
    }),

    endpoint<Ids>('GET', recordPath, async ({ parameters, call }) => {
      const record = await table.read(recordId(parameters), parentId(parameters));
      if (record === undefined) throw await missing(parameters, call.path);
      return jsonReply(200, record);
    }),

    endpoint<Ids, Texts>('PUT', recordPath, async ({ parameters, body, call }) => {
      const id = recordId(parameters);
      const found = await table.replace(id, textsOf(body), parentId(parameters));
      if (!found) throw await missing(parameters, call.path);
      return jsonReply(200, recordText(id, parameters, body));
    }),

    endpoint<Ids>('DELETE', recordPath, async ({ parameters, call }) => {
      const found = await table.remove(recordId(parameters), parentId(parameters));
      if (!found) throw await missing(parameters, call.path);
      return { status: 204 };
    }),
  ];
}

function notFound(label: string, sent: string | undefined): Problem {
  return new Problem('not-found', `${label} with ID ${sent} was not found.`);
}

function fill(template: string, ids: Ids): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
}
