// The three collections and their differences, so that one test can cover all of them.
import { contract } from './contract.ts';
import type { Service } from './service.ts';

/** A collection under test. The path of a nested one is below a note that `prepare` creates. */
export interface CollectionUnderTest {
  readonly label: string;
  readonly path: string;
  /** The fields that a client sends. */
  readonly fields: readonly string[];
  /** What the service adds, except for the id. */
  readonly added: Readonly<Record<string, number>>;
  /** The name of each field's schema in the contract. */
  readonly schemas: Readonly<Record<string, string>>;
  readonly nested: boolean;
}

/** All collections of the service. */
export const COLLECTIONS: readonly CollectionUnderTest[] = [
  {
    label: 'Note',
    path: '/notes',
    fields: ['title', 'body'],
    added: {},
    schemas: { title: 'NoteTitle', body: 'NoteBody' },
    nested: false,
  },
  {
    label: 'Tag',
    path: '/tags',
    fields: ['name'],
    added: {},
    schemas: { name: 'TagName' },
    nested: false,
  },
  {
    label: 'Comment',
    path: '/notes/3/comments',
    fields: ['body'],
    added: { note_id: 3 },
    schemas: { body: 'CommentBody' },
    nested: true,
  },
];

/** Returns the maximum number of code points of `field` in the contract. */
export function maxLengthOf({ schemas }: CollectionUnderTest, field: string): number {
  const declared = contract.components.schemas as Record<string, { maxLength: number }>;
  const maxLength = declared[schemas[field] ?? '']?.maxLength;
  if (maxLength === undefined) throw new Error(`the contract has no bound for ${field}`);
  return maxLength;
}

/** Returns the body of a request with `text` in every field. */
export function inputOf({ fields }: CollectionUnderTest, text: string): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, text]));
}

/**
 * Creates the note of a nested collection, after others, so that its id is not that of a first
 * record.
 */
export async function prepare(service: Service, { nested }: CollectionUnderTest): Promise<void> {
  for (const title of nested ? ['one', 'two', 'parent'] : []) {
    await service.request('POST', '/notes', { json: { title, body: 'x' } });
  }
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
    if (json.items.length === 0) return items;
  }
}
