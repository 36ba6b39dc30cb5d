// Two resources that only tests have: with every type of field, with defaults and with an owner.
// Some fields have the names of columns of json_each, which unpacks parameters.
import { type Resource, text } from '../../src/resources/resource.ts';
import type { Database } from '../../src/storage/database.ts';
import { statementsOf } from '../../src/storage/schema/migrations.ts';
import { STEPS as SCHEMA_STEPS } from '../../src/storage/schema/steps.ts';
import type { Ends } from './engine.ts';
import type { Engine } from './engines.ts';

/** A resource with every type of field and with defaults. */
export const TASKS: Resource = {
  label: 'Task',
  path: '/tasks',
  idParameter: 'task_id',
  table: 'tasks',
  blocks: 'task_blocks',
  fields: {
    title: text,
    done: { type: 'boolean', default: false },
    value: { type: 'text', default: 'none' },
  },
};

/** A resource with an owner. */
export const STEPS: Resource = {
  label: 'Step',
  path: '/tasks/{task_id}/steps',
  idParameter: 'step_id',
  table: 'steps',
  blocks: 'step_blocks',
  fields: { done: { type: 'boolean' }, key: { type: 'integer', default: 5 } },
  owner: { resource: TASKS, column: 'task_id' },
};

export const TASK_RESOURCES = [TASKS, STEPS];

function partOf(schema: string, first: string, next: string): string {
  return schema.slice(...[first, next].map((table) => schema.indexOf(`CREATE TABLE ${table} (`)));
}

/** The tables of tasks are like those of tags, the tables of steps like those of comments. */
const [SCHEMA = ''] = SCHEMA_STEPS;
const TABLES = [
  partOf(SCHEMA, 'tags', 'comments')
    .replaceAll('tag', 'task')
    .replace('  name TEXT', '  done INTEGER NOT NULL, value TEXT NOT NULL, title TEXT')
    .replace('(name)', '(title)')
    .replaceAll(/(new|old)\.name/g, '$1.title, $1.done, $1.value'),
  partOf(SCHEMA, 'comments', 'note_tags')
    .replaceAll('comment', 'step')
    .replaceAll('note', 'task')
    .replace('body TEXT', 'done INTEGER NOT NULL, key INTEGER')
    .replaceAll(/(new|old)\.body/g, '$1.done, $1.key'),
];

/** Opens a database that has the tables of {@link TASK_RESOURCES} too. */
export async function openWithTasks(t: Ends, engine: Engine): Promise<Database> {
  const database = await engine.open(t);
  const statements = TABLES.flatMap(statementsOf);
  await database.transact(statements.map((sql) => ({ sql })));
  return database;
}
