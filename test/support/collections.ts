// The collections and their differences, so that one test can cover all of them.
import assert from 'node:assert/strict';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { at, resolve } from './contract.ts';
import type { Service } from './service.ts';

/** A collection under test. If it is nested, its path is below an owner that `prepare` creates. */
export interface CollectionUnderTest {
  readonly label: string;
  readonly path: string;
  /** The fields that a client sends. */
  readonly fields: readonly string[];
  /** What the service adds, except for the id. */
  readonly added: Readonly<Record<string, number>>;
  readonly nested: boolean;
  readonly owner: Resource | undefined;
}

/** The id of the owner of nested collections: not that of a first record. */
const OWNER_ID = 3;

/** All collections of the service. */
export const COLLECTIONS: readonly CollectionUnderTest[] = RESOURCES.map((resource) => {
  const { label, fields, owner } = resource;
  return {
    label,
    path: listPath(resource, OWNER_ID),
    fields: Object.keys(fields),
    added: owner ? { [owner.column]: OWNER_ID } : {},
    nested: owner !== undefined,
    owner: owner?.resource,
  };
});

/** Returns the path of the list of a resource; `ownerId` is the id of the owner, if it has one. */
export function listPath({ path }: Resource, ownerId?: number | string): string {
  return path.replace(/\{\w+\}/, String(ownerId));
}

/** Returns the maximum number of code points of a field in the contract. */
export function maxLengthOf({ label }: Pick<Resource, 'label'>, field: string): number {
  const schema = resolve(`/components/schemas/${label}Input/properties/${field}`) ?? '';
  const { maxLength } = (at(schema) ?? {}) as { maxLength?: number };
  if (maxLength === undefined) throw new Error(`the contract has no bound for ${field}`);
  return maxLength;
}

/** Returns the body of a request with `text` in every field. */
export function inputOf({ fields }: CollectionUnderTest, text: string): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, text]));
}

/** Creates the owner of a nested collection. */
export async function prepare(service: Service, { owner }: CollectionUnderTest): Promise<void> {
  if (!owner) return;
  const json = Object.fromEntries(Object.keys(owner.fields).map((field) => [field, 'x']));
  for (let id = 1; id <= OWNER_ID; id += 1) await service.request('POST', owner.path, { json });
}

/** Reads the whole list at `path`, page by page. Nobody may write meanwhile. */
export async function allItems(
  service: Service,
  path: string,
): Promise<Readonly<Record<string, unknown>>[]> {
  const items: Record<string, unknown>[] = [];
  for (;;) {
    const { json } = await service.request('GET', `${path}?limit=100&offset=${items.length}`);
    items.push(...json.items);
    if (items.length === json.total || json.items.length === 0) {
      assert.equal(items.length, json.total);
      return items;
    }
  }
}
