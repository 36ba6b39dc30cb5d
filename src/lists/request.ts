// What can be asked of a list: which records it contains, in which order, and which page of it.
import type { Call } from '../http/route.ts';
import { type Condition, NEVER } from '../records/condition.ts';

/** An id, the number of a change or, in an order by texts, a text. */
export type PageKey = number | string;

/** A page of a list. A page at a key, given by `after` or `before`, has no offset. */
export interface PageRequest {
  readonly limit: number;
  readonly offset?: number;
  readonly after?: PageKey | undefined;
  readonly before?: PageKey | undefined;
  /** The name of an order of the list. Default: id. */
  readonly order?: string;
  readonly owner?: number | undefined;
  readonly id?: number | undefined;
  /** The values of filters of the list, by their names. */
  readonly filters?: Readonly<Record<string, unknown>>;
  /** Whether the owner is a tag of the notes in the list, or a note with the tags in it. */
  readonly isOfCounterpart?: boolean;
  /** The only fields that the records have; if it is empty, all. */
  readonly fields?: readonly string[];
  /** The members that the records have besides their fields. */
  readonly include?: readonly string[];
  /** Whether records are lines, instead of the items of an array. */
  readonly isLines?: boolean;
  /** The records are not read if the tag of the list satisfies it. */
  readonly known?: Condition;
  /** Who asks for the page. It is read only while it can be sent. */
  readonly call?: Pick<Call, 'clientId' | 'signal' | 'ensureSendable' | 'reserveLarge'> | undefined;
}

/** What follows the tag of a list in that of its lines. */
export const LINES_ENDING = '.ndjson';

/** The greatest key, as in the contract; its successor is an exact integer in JSON as well. */
export const MAX_KEY = Number.MAX_SAFE_INTEGER - 1;

/** From this offset on, the block counters find a page faster than skipping records does. */
export const DEEP_OFFSET = 2_048;

/** The parts of a request that decide the SQL; the others are values in it. */
export interface Shape
  extends Required<
    Pick<PageRequest, 'order' | 'isOfCounterpart' | 'fields' | 'include' | 'isLines'>
  > {
  readonly position: 'offset' | 'deep' | 'after' | 'before';
  readonly isOne: boolean;
  readonly filters: readonly string[];
  readonly isConditional: boolean;
  readonly isLarge: boolean;
}

/** Returns the shape of a request. Two requests with the same JSON text of it share statements. */
export function shapeOf(request: PageRequest, isLarge: boolean): Shape {
  const { order = 'id', after, before, offset = 0, filters = {}, known = NEVER } = request;
  const byOffset = offset >= DEEP_OFFSET ? 'deep' : 'offset';
  const byKey = after === undefined ? 'before' : 'after';
  return {
    order,
    position: (after ?? before) === undefined ? byOffset : byKey,
    isOne: request.id !== undefined,
    isOfCounterpart: request.isOfCounterpart ?? false,
    filters: Object.keys(filters),
    fields: request.fields ?? [],
    include: request.include ?? [],
    isLines: request.isLines ?? false,
    isConditional: known !== NEVER,
    isLarge,
  };
}

/** Returns the values of a request, which statements get in JSON. */
export function valuesIn(request: PageRequest): object {
  const { limit, offset = 0, owner = 0, id, after, before, filters, known } = request;
  const key = after ?? before;
  return { limit, offset, owner, id, key, filters, known };
}
