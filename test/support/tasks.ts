// Two resources that only tests have: with every type of field, with defaults and with an owner.
// Some fields have the names of columns of json_each, which unpacks parameters.
import { type Resource, text } from '../../src/resources/resource.ts';
import type { Database } from '../../src/storage/database.ts';
import { blockCounter, changeLog } from '../../src/storage/schema/steps.ts';
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

const COLUMNS_OF_CHANGES = 'number INTEGER NOT NULL, created_at INTEGER, updated_at INTEGER';

const STATEMENTS = [
  `CREATE TABLE tasks (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     title TEXT NOT NULL,
     done INTEGER NOT NULL,
     value TEXT NOT NULL,
     ${COLUMNS_OF_CHANGES}
   ) STRICT`,
  ...blockCounter(TASKS),
  ...changeLog(TASKS),
  `CREATE TABLE steps (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
     done INTEGER NOT NULL,
     key INTEGER NOT NULL,
     ${COLUMNS_OF_CHANGES}
   ) STRICT`,
  'CREATE INDEX steps_of_task ON steps (task_id)',
  ...blockCounter(STEPS),
  ...changeLog(STEPS),
].map((sql) => ({ sql }));

/** Opens a database that has the tables of {@link TASK_RESOURCES} too. */
export async function openWithTasks(t: Ends, engine: Engine): Promise<Database> {
  const database = await engine.open(t);
  await database.transact('tasks and steps', STATEMENTS);
  return database;
}
