// Changes of notes with their tags. The tags go first, while the condition can be tested.
import {
  type JointChange,
  judgeBy,
  listsOf,
  queriesOf,
  reportsOf,
  type Verdict,
  type WritePart,
} from '../records/parts.ts';
import { bytesWithOwnedSql } from '../records/rewritten.ts';
import { recordSql, recordText } from '../records/text.ts';
import {
  type Change,
  changedRows,
  isTarget,
  type Stored,
  sentBy,
  updating,
} from '../records/writes.ts';
import { notes } from '../resources/notes.ts';
import { tagSql } from '../storage/numbers.ts';
import { namedRows, SET_TIMES } from '../storage/parameter.ts';
import type { Columns, Step } from '../storage/step.ts';
import type { Steps, WriteKind } from '../storage/writer.ts';

/** Returns changes with tags, given the parts of creations; `admits` is that of ids. */
export function taggedChange(
  parts: readonly WritePart[],
  createTags: string,
  admits = 'TRUE',
): WriteKind<JointChange, (Stored & Verdict) | undefined> {
  const named = namedWith(parts, admits);
  const steps = stepsWith(named, createTags, reportsOf(parts));
  return {
    steps: () => steps,
    lists: (writes) => ({
      requests: writes.map((write) => [write.id, write.condition, hasAllFields(write)]),
      ...sentBy(writes),
      ...listsOf(parts, writes),
    }),
    outcomes(writes, { before = [], update = [] }) {
      const judge = judgeBy(before.find(({ position }) => position === 0) ?? {});
      const found = new Map([...before, ...update].map((row) => [row.id, row]));
      return writes.map((write, request) => {
        const now = found.get(write.id);
        if (!now) return undefined;
        const text = String(now.text ?? recordText(notes, write.id, 0, write.rows[0] ?? []));
        return { text, tag: String(now.tag), ...judge(write, request) };
      });
    },
    changes(write, changed) {
      // Without fields, perhaps nothing changes: the tags may be the same as before.
      if (!changed || changed.refusal || !hasFields(write)) return [];
      const { text, tag } = changed;
      return [[notes.table, write.id, { text, tag }]];
    },
    rewrites: { bytes: bytesWithOwnedSql(notes), factor: 2 },
  };
}

function hasAllFields({ rows: [values = []] }: Change): boolean {
  return !values.includes(null);
}

function hasFields({ rows: [values = []] }: Change): boolean {
  return values.some((value) => value !== null);
}

const TARGET = `notes ON ${isTarget(notes, 'requests')}`;

function namedWith(parts: readonly WritePart[], admits: string): string {
  return [
    namedRows('requests', ['_id', '_condition', '_has_all_fields']),
    changedRows(notes),
    ...queriesOf(parts),
    `admitted AS MATERIALIZED (
      SELECT _position, id FROM requests CROSS JOIN ${TARGET} WHERE ${admits})`,
    `chosen AS (
      SELECT id AS note_id, _tag AS tag_id FROM tags_by_id
      CROSS JOIN admitted ON admitted._position = _request
      UNION ALL
      SELECT id, (SELECT min(id) FROM tags WHERE name = _tag) FROM tags_by_name
      CROSS JOIN admitted ON admitted._position = _request)`,
  ].join(',\n    ');
}

function stepsWith(named: string, createTags: string, reports: Columns): Steps {
  const step = (write: string): Step => ({ named, write, ignoresRows: true });
  const once = Object.entries(reports).map(([name, sql]) => [
    name,
    `iif(_position = 0, ${sql}, NULL)`,
  ]);
  const isChanged = 'sent._position IN (SELECT admitted._position FROM admitted)';
  return {
    before: {
      named,
      returns: {
        ...{ position: '_position', id: 'notes.id', tag: tagSql('number') },
        // With all fields, the text is known.
        text: `iif(_has_all_fields, NULL, ${recordSql(notes)} || '')`,
        ...Object.fromEntries(once),
      },
      from: `FROM requests LEFT JOIN ${TARGET}`,
      ignoresRows: true,
    },
    createTags: step(createTags),
    untag: step(`
      DELETE FROM note_tags WHERE note_id IN (SELECT id FROM admitted)
        AND (note_id, tag_id) NOT IN (SELECT note_id, tag_id FROM chosen)`),
    tag: step(`
      INSERT INTO note_tags (note_id, tag_id)
      SELECT note_id, tag_id FROM chosen WHERE NOT EXISTS (
        SELECT 1 FROM note_tags AS each
        WHERE each.note_id = chosen.note_id AND each.tag_id = chosen.tag_id)`),
    update: updating(notes, true, named, `${isChanged} AND ${isGiven}`),
    setTimes: SET_TIMES,
  };
}

const isGiven = `(${Object.keys(notes.fields)
  .map((name) => `sent.${name} IS NOT NULL`)
  .join(' OR ')})`;
