// The build completes the contract by what follows from the schema and the entry of a field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Contract, complete } from '../../src/build/completion.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { contract } from '../support/contract.ts';

// biome-ignore lint/suspicious/noExplicitAny: the test states the shape of what it compares.
type Json = any;

/** Returns the contract with `added` among the members of notes, completed for the resource. */
function completed(added: Json, resource: Partial<Resource>) {
  const copy: Contract & Json = structuredClone(contract);
  Object.assign(copy.components.schemas.NotePart.properties, added);
  const changed = { ...notes, ...resource };
  complete(
    copy,
    RESOURCES.map((each) => (each === notes ? changed : each)),
  );
  return { paths: copy.paths, ...copy.components };
}

const PINNED = { description: 'Whether it is pinned.', type: 'boolean' };
const WITH_PINNED = { ...notes.fields, pinned: { type: 'boolean', default: false } } as const;

test('completion: the contract is complete', () => {
  const copy: Contract & Json = structuredClone(contract);
  complete(copy, RESOURCES);
  assert.equal(JSON.stringify(copy), JSON.stringify(contract), 'npm run build completes it');
});

test('completion: a field with a default is in each body', () => {
  const { schemas } = completed({ pinned: PINNED }, { fields: WITH_PINNED });
  assert.deepEqual(schemas.NoteInput.properties.pinned, { ...PINNED, default: false });
  assert.deepEqual(schemas.NoteInput.required, ['title', 'body']);
  for (const name of ['NotePatch', 'DeletedNotePart'])
    assert.deepEqual(schemas[name].properties.pinned, PINNED, name);
  for (const name of ['Note', 'DeletedNote'])
    assert.ok(schemas[name].required.includes('pinned'), name);
  assert.ok(!('pinned' in schemas.CommentInput.properties));
});

test('completion: a field without a default is required', () => {
  const fields = { ...notes.fields, author: { type: 'text' } } as const;
  const { schemas } = completed({ author: { type: 'string' } }, { fields });
  assert.deepEqual(schemas.NoteInput.required, ['title', 'body', 'author']);
  assert.deepEqual(schemas.NotePatch.required, undefined);
});

test('completion: a field can be chosen, also in the trash and in changes', () => {
  const { parameters } = completed({ pinned: PINNED }, { fields: WITH_PINNED });
  const chosen = (name: string) => parameters[name].schema;
  assert.deepEqual(chosen('NoteFields').items.enum, ['id', 'title', 'body', 'pinned']);
  assert.equal(chosen('NoteFields').maxItems, 4);
  assert.ok(chosen('DeletedNoteFields').items.enum.includes('pinned'));
  assert.equal(chosen('ChangesFields').items.enum.at(-1), 'pinned');
  assert.equal(chosen('ChangesFields').items['x-enum-varnames'].at(-1), 'Pinned');
  assert.ok(!chosen('NoteInclude').items.enum.includes('pinned'));
});

test('completion: whole examples have the defaults, and others do not', () => {
  const { responses, examples } = completed({ pinned: PINNED }, { fields: WITH_PINNED });
  assert.equal(examples.Note.value.pinned, false);
  assert.ok(!('pinned' in examples.Tag.value) && !('pinned' in examples.Comment.value));
  const content = responses.NoteListResponse.content['application/json'].examples;
  assert.equal(content.search.value.items[0].pinned, false);
  assert.ok(!('pinned' in content.lean.value.items[0]));
});

test('completion: the schema of a member is where it is declared, and nowhere else', () => {
  const title = { type: 'string', maxLength: 9 };
  const { schemas } = completed({ title }, {});
  for (const name of ['NoteInput', 'NotePatch', 'DeletedNotePart'])
    assert.deepEqual(schemas[name].properties.title, title, name);
});

test('completion: filters are parameters of each list, with text for a boolean', () => {
  const filters = ['pinned', 'title'];
  const { parameters, paths } = completed({ pinned: PINNED }, { fields: WITH_PINNED, filters });
  const { NotePinnedFilter, NoteTitleFilter } = parameters;
  assert.deepEqual(NotePinnedFilter, {
    ...{ name: 'pinned', in: 'query', description: 'Only notes with this pinned.' },
    schema: { type: 'string', enum: ['true', 'false'] },
  });
  assert.deepEqual(NoteTitleFilter.schema, { $ref: '#/components/schemas/NoteTitle' });
  const $ref = '#/components/parameters/NotePinnedFilter';
  const has = (path: string) =>
    paths[path].get.parameters.some((each: Json) => each.$ref === $ref) as boolean;
  for (const path of ['/notes', '/tags/{tag_id}/notes']) assert.ok(has(path), path);
  for (const path of ['/tags', '/trash']) assert.ok(!has(path), path);
});

test('completion: a member that is no field is included on demand, and ignored in requests', () => {
  const { schemas, parameters } = completed({ comments_count: { type: 'integer' } }, {});
  for (const name of ['NoteInput', 'NotePatch'])
    assert.deepEqual(schemas[name].properties.comments_count, {
      $ref: '#/components/schemas/Ignored',
    });
  for (const name of ['NoteInclude', 'NoteListInclude']) {
    const { items, maxItems } = parameters[name].schema;
    assert.equal(items.enum.at(-1), 'comments_count');
    assert.equal(items['x-enum-varnames'].at(-1), 'CommentsCount');
    assert.equal(maxItems, items.enum.length);
    assert.equal(items.enum.includes('snippet'), name === 'NoteListInclude');
  }
  assert.ok(!schemas.Note.required.includes('comments_count'));
});

test('completion: orders can be reversed', () => {
  const { parameters } = completed({}, { orders: { title: 'notes.title' } });
  assert.deepEqual(parameters.NoteOrder.schema.enum.slice(-2), ['title', '-title']);
});

test('completion: a field without a schema is refused', () => {
  assert.throws(() => completed({}, { fields: WITH_PINNED }), /the contract lacks pinned/);
});
