// The steps of the schema, in plain SQL. Empty lines separate statements, and are nowhere else.
// SQLite keeps the comments within statements, for `.schema`. The parameter ?1 is a new generation,
// as JSON.
import { keptOfNotes } from '../../history/schema.ts';
import { namesOfNotes } from '../../names/schema.ts';
import type { Relation, SchemaPart } from '../../resources/relation.ts';
import { answers } from '../../retries/schema.ts';
import { searchIndex } from '../../search/schema.ts';
import { tagsOnNotes } from '../../tags/schema.ts';
import { records } from './records.ts';

/** The parts of the core and of features. A part uses the tables of those before it. */
const PARTS: readonly SchemaPart[] = [
  ...[records, tagsOnNotes, namesOfNotes, searchIndex, answers, keptOfNotes],
];

/** All tables with data, in the order in which they are exported. */
export const RELATIONS: readonly Relation[] = PARTS.flatMap(({ relations = [] }) => relations);

// A release freezes its steps: 1.0.0 has the parts, whose SQL never changes.
/** The steps in order; step N brings a database from version N - 1 to version N. */
export const STEPS: readonly string[] = [PARTS.map(({ sql }) => sql).join('')];
