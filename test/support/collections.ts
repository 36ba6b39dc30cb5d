// The collections and their differences, so that one test can cover all of them.
import assert from 'node:assert/strict';
import type { FieldValue, Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { at, resolve } from './contract.ts';
import { defaultsOf, sampleOf } from './records.ts';
import type { Service } from './service.ts';

/** A collection under test. If it is nested, its path is below an owner that `prepare` creates. */
export interface CollectionUnderTest {
  readonly label: string;
  readonly path: string;
  readonly fields: readonly string[];
  readonly samples: Readonly<Record<string, FieldValue>>;
  /** What the service adds: the id of the owner and defaults, but not the id of the record. */
  readonly added: Readonly<Record<string, FieldValue>>;
  readonly nested: boolean;
  readonly owner: Resource | undefined;
}

/** The id of the owner of nested collections: not that of a first record. */
const OWNER_ID = 3;

/** All collections of the service. */
export const COLLECTIONS: readonly CollectionUnderTest[] = RESOURCES.map((resource) => {
  const { label, owner } = resource;
  return {
    label,
    path: listPath(resource, OWNER_ID),
    fields: requiredTexts(resource),
    samples: samplesOf(resource),
    added: { ...(owner && { [owner.column]: OWNER_ID }), ...defaultsOf(resource) },
    nested: owner !== undefined,
    owner: owner?.resource,
  };
});

function requiredTexts({ fields }: Resource): string[] {
  const isRequired = (name: string) =>
    fields[name]?.type === 'text' && fields[name].default === undefined;
  return Object.keys(fields).filter(isRequired);
}

/** Returns a value for each required field that is no text. */
function samplesOf({ fields }: Resource): Record<string, FieldValue> {
  const sampled = Object.entries(fields).filter(
    ([, field]) => field.type !== 'text' && field.default === undefined,
  );
  return Object.fromEntries(sampled.map(([name, field]) => [name, sampleOf(field)]));
}

/** Returns the path of the list of a resource; `ownerId` is the id of the owner, if it has one. */
function listPath({ path }: Resource, ownerId?: number | string): string {
  return path.replace(/\{\w+\}/, String(ownerId));
}

/** Returns the maximum number of code points of a field in the contract. */
export function maxLengthOf({ label }: Pick<Resource, 'label'>, field: string): number {
  const schema = resolve(`/components/schemas/${label}Input/properties/${field}`) ?? '';
  const { maxLength } = (at(schema) ?? {}) as { maxLength?: number };
  if (maxLength === undefined) throw new Error(`the contract has no bound for ${field}`);
  return maxLength;
}

/** Returns the body of a request with `text` in every required text. */
export function inputOf(
  { fields, samples }: Pick<CollectionUnderTest, 'fields' | 'samples'>,
  text: string,
): Record<string, FieldValue> {
  return { ...samples, ...Object.fromEntries(fields.map((field) => [field, text])) };
}

/** Returns a valid body for a path of notes, comments or tags. */
export function bodyFor(path: string): object {
  if (path.startsWith('/tags')) return { name: 'x' };
  return path.includes('/comments') ? { body: 'x' } : { title: 'x', body: 'x' };
}

/** Returns the JSON of each in order, to compare what has the order of the contract. */
export function inAnyOrder(items: readonly unknown[]): string[] {
  return items.map((each) => JSON.stringify(each)).sort();
}

/** Creates the owner of a nested collection. */
export async function prepare(
  service: Pick<Service, 'request'>,
  { owner }: CollectionUnderTest,
): Promise<void> {
  if (!owner) return;
  const json = inputOf({ fields: requiredTexts(owner), samples: samplesOf(owner) }, 'x');
  for (let id = 1; id <= OWNER_ID; id += 1) await service.request('POST', owner.path, { json });
}

/** Reads the whole list at `path`, page by page. Nobody may write meanwhile. */
export async function allItems(
  service: Pick<Service, 'request'>,
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
