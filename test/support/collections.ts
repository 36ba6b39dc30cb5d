// The three collections as the tests see them: what differs between them, so that what is the same is tested once.
import { contract } from './contract.ts';
import type { Service } from './service.ts';

/** A collection under test. Where it is nested, its path is below a note that `prepare` makes. */
export interface CollectionUnderTest {
  readonly label: string;
  readonly path: string;
  /** The fields a client supplies. */
  readonly fields: readonly string[];
  /** What the service adds beside the id. */
  readonly added: Readonly<Record<string, number>>;
  /** The names of the request schema's field schemas in the contract. */
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
  { label: 'Tag', path: '/tags', fields: ['name'], added: {}, schemas: { name: 'TagName' }, nested: false },
  {
    label: 'Comment',
    path: '/notes/3/comments',
    fields: ['body'],
    added: { note_id: 3 },
    schemas: { body: 'CommentBody' },
    nested: true,
  },
];

/** Returns the largest number of code points that `field` takes, as the contract has it. */
export function maxLengthOf({ schemas }: CollectionUnderTest, field: string): number {
  const declared = contract.components.schemas as Record<string, { maxLength: number }>;
  const maxLength = declared[schemas[field] ?? '']?.maxLength;
  if (maxLength === undefined) throw new Error(`the contract has no bound for ${field}`);
  return maxLength;
}

/** Returns a record's input with `text` in every field. */
export function inputOf({ fields }: CollectionUnderTest, text: string): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, text]));
}

/** Makes the note that a nested collection lives below, behind others, so that no id of it is the note's by chance. */
export async function prepare(service: Service, { nested }: CollectionUnderTest): Promise<void> {
  for (const title of nested ? ['one', 'two', 'parent'] : []) {
    await service.request('POST', '/notes', { json: { title, body: 'x' } });
  }
}

/** Returns the whole list at `path`, got page by page; nobody may write meanwhile. */
export async function allItems(service: Service, path: string): Promise<Readonly<Record<string, unknown>>[]> {
  const items: Record<string, unknown>[] = [];
  for (;;) {
    const { json } = await service.request('GET', `${path}?limit=100&offset=${items.length}`);
    items.push(...json.items);
    if (json.items.length === 0) return items;
  }
}
