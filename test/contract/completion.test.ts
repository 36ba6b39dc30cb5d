// The build completes the contract by what follows from the schema and the entry of a field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Contract, complete } from '../../src/build/completion.ts';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { contract } from '../support/contract.ts';

// biome-ignore lint/suspicious/noExplicitAny: the test states the shape of what it compares.
type Json = any;

/** Returns the contract with `added` among the members of a record, completed for the changes. */
function completed(added: Json, changes: Partial<Resource>, resource = notes) {
  const copy: Contract & Json = structuredClone(contract);
  Object.assign(copy.components.schemas[`${resource.label}Part`].properties, added);
  const changed = { ...resource, ...changes };
  complete(
    copy,
    RESOURCES.map((each) => (each === resource ? changed : each)),
  );
  return { paths: copy.paths, ...copy.components };
}

const STARRED = { description: 'Whether it is starred.', type: 'boolean' };
const WITH_STARRED = { ...notes.fields, starred: { type: 'boolean', default: false } } as const;

test('completion: the contract is complete', () => {
  const copy: Contract & Json = structuredClone(contract);
  complete(copy, RESOURCES);
  assert.equal(JSON.stringify(copy), JSON.stringify(contract), 'npm run build completes it');
});

test('completion: a field with a default is in each body', () => {
  const { schemas } = completed({ starred: STARRED }, { fields: WITH_STARRED });
  assert.deepEqual(schemas.NoteInput.properties.starred, { ...STARRED, default: false });
  assert.deepEqual(schemas.NoteInput.required, ['title', 'body']);
  for (const name of ['NotePatch', 'DeletedNotePart'])
    assert.deepEqual(schemas[name].properties.starred, STARRED, name);
  for (const name of ['Note', 'DeletedNote'])
    assert.ok(schemas[name].required.includes('starred'), name);
  assert.ok(!('starred' in schemas.CommentInput.properties));
});

test('completion: a field without a default is required', () => {
  const fields = { ...notes.fields, author: { type: 'text' } } as const;
  const { schemas } = completed({ author: { type: 'string' } }, { fields });
  assert.deepEqual(schemas.NoteInput.required, ['title', 'body', 'author']);
  assert.deepEqual(schemas.NotePatch.required, undefined);
});

test('completion: a field can be chosen, also in the trash and in changes', () => {
  const { parameters } = completed({ starred: STARRED }, { fields: WITH_STARRED });
  const chosen = (name: string) => parameters[name].schema;
  const { items, maxItems } = chosen('NoteFields');
  assert.equal(items.enum.at(-1), 'starred');
  assert.equal(items.enum.length, maxItems);
  assert.ok(chosen('DeletedNoteFields').items.enum.includes('starred'));
  assert.equal(chosen('ChangesFields').items.enum.at(-1), 'starred');
  assert.equal(chosen('ChangesFields').items['x-enum-varnames'].at(-1), 'Starred');
  assert.ok(!chosen('NoteInclude').items.enum.includes('starred'));
});

test('completion: whole examples have the defaults, and others do not', () => {
  const { responses, examples } = completed({ starred: STARRED }, { fields: WITH_STARRED });
  assert.equal(examples.Note.value.starred, false);
  assert.ok(!('starred' in examples.Tag.value) && !('starred' in examples.Comment.value));
  const content = responses.NoteListResponse.content['application/json'].examples;
  assert.equal(content.search.value.items[0].starred, false);
  assert.ok(!('starred' in content.lean.value.items[0]));
});

test('completion: an example of a note with the members of a comment is none of a comment', () => {
  const fields = { ...comments.fields, starred: WITH_STARRED.starred };
  const { examples } = completed({ starred: STARRED }, { fields }, comments);
  assert.equal(examples.Comment.value.starred, false);
  assert.ok(!('starred' in examples.Note.value));
});

test('completion: the schema of a member is where it is declared, and nowhere else', () => {
  const title = { type: 'string', maxLength: 9 };
  const { schemas } = completed({ title }, {});
  for (const name of ['NoteInput', 'NotePatch', 'DeletedNotePart'])
    assert.deepEqual(schemas[name].properties.title, title, name);
});

test('completion: filters are parameters of each list, with text for a boolean', () => {
  const filters = ['starred', 'title'];
  const { parameters, paths } = completed({ starred: STARRED }, { fields: WITH_STARRED, filters });
  const { NoteStarredFilter, NoteTitleFilter } = parameters;
  assert.deepEqual(NoteStarredFilter, {
    ...{ name: 'starred', in: 'query', description: 'Only notes with this starred.' },
    schema: { type: 'string', enum: ['true', 'false'] },
  });
  assert.deepEqual(NoteTitleFilter.schema, { $ref: '#/components/schemas/NoteTitle' });
  const $ref = '#/components/parameters/NoteStarredFilter';
  const has = (path: string) =>
    paths[path].get.parameters.some((each: Json) => each.$ref === $ref) as boolean;
  for (const path of ['/notes', '/tags/{tag_id}/notes']) assert.ok(has(path), path);
  for (const path of ['/tags', '/trash']) assert.ok(!has(path), path);
});

test('completion: a member that is no field is included on demand, and ignored in requests', () => {
  const { schemas, parameters } = completed({ words_count: { type: 'integer' } }, {});
  for (const name of ['NoteInput', 'NotePatch'])
    assert.deepEqual(schemas[name].properties.words_count, {
      $ref: '#/components/schemas/Ignored',
    });
  for (const name of ['NoteInclude', 'NoteListInclude']) {
    const { items, maxItems } = parameters[name].schema;
    assert.equal(items.enum.at(-1), 'words_count');
    assert.equal(items['x-enum-varnames'].at(-1), 'WordsCount');
    assert.equal(maxItems, items.enum.length);
    assert.equal(items.enum.includes('snippet'), name === 'NoteListInclude');
  }
  assert.ok(!schemas.Note.required.includes('words_count'));
});

test('completion: orders can be reversed', () => {
  const { parameters } = completed({}, { orders: { title: 'notes.title' } });
  assert.deepEqual(parameters.NoteOrder.schema.enum.slice(-2), ['title', '-title']);
});

test('completion: a field without a schema is refused', () => {
  assert.throws(() => completed({}, { fields: WITH_STARRED }), /the contract lacks starred/);
});
