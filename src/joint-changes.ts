// Changes of notes with what parts add to them, such as tags. Those that wait share their steps.
// The parts go first, while conditions can be tested.
import {
  type JointChange,
  judgeBy,
  listsOf,
  queriesOf,
  reportsOf,
  type Verdict,
  type WritePart,
} from './records/parts.ts';
import { bytesWithOwnedSql } from './records/rewritten.ts';
import { recordSql, recordText } from './records/text.ts';
import {
  type Change,
  changedRows,
  isTarget,
  type Stored,
  sentBy,
  updating,
} from './records/writes.ts';
import { notes } from './resources/notes.ts';
import { tagSql } from './storage/numbers.ts';
import { namedRows } from './storage/parameter.ts';
import type { Columns, Step } from './storage/step.ts';
import type { Change as MemoryChange, Steps, WriteKind } from './storage/writer.ts';

/** Returns the changes that ask for any of these parts. */
export function jointChange(
  parts: readonly WritePart[],
): WriteKind<JointChange, (Stored & Verdict) | undefined> {
  const stepsByParts = new Map<string, Steps>();
  return {
    steps(writes) {
      const asked = partsOf(parts, writes);
      const names = asked.map(({ name }) => name).join();
      const steps = stepsByParts.get(names) ?? stepsWith(asked);
      stepsByParts.set(names, steps);
      return steps;
    },
    lists(writes) {
      const asked = partsOf(parts, writes);
      const requests = writes.map((write) => {
        const row = [write.id, write.condition, write.at ?? null, hasAllFields(write)];
        for (const { name, ofRequest = [] } of asked)
          row.push(...(write.asked[name]?.ofRequest ?? ofRequest.map(() => null)));
        return row;
      });
      return { requests, ...sentBy(writes), ...listsOf(asked, writes) };
    },
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
      if (!changed || changed.refusal) return [];
      const { text, tag } = changed;
      const all: MemoryChange[] = [[notes.table, write.id, { text, tag }]];
      for (const { name, inChanges } of parts)
        if (inChanges?.area && name in write.asked) all.push([inChanges.area]);
      // Without fields, perhaps nothing changes: the tags may be the same as before.
      return all.length > 1 || hasFields(write) ? all : [];
    },
    rewrites: { bytes: bytesWithOwnedSql(notes), factor: 2 },
  };
}

/** Returns the parts that any of these writes asks for, and those that go together with one. */
function partsOf(parts: readonly WritePart[], writes: readonly JointChange[]): WritePart[] {
  const asked = parts.filter(({ name }) => writes.some((each) => name in each.asked));
  const added = new Set(asked.map(({ inChanges }) => inChanges));
  return parts.filter(({ inChanges }) => inChanges && added.has(inChanges));
}

function hasAllFields({ rows: [values = []] }: Change): boolean {
  return !values.includes(null);
}

function hasFields({ rows: [values = []] }: Change): boolean {
  return values.some((value) => value !== null);
}

const TARGET = `notes ON ${isTarget(notes, 'requests')}`;

const IS_GIVEN = Object.keys(notes.fields).map((name) => `sent.${name} IS NOT NULL`);

function stepsWith(parts: readonly WritePart[]): Steps {
  const added = [...new Set(parts.flatMap(({ inChanges }) => inChanges ?? []))];
  const conditions = parts.flatMap(({ admits }) => admits ?? []);
  const ofRequest = parts.flatMap((part) => part.ofRequest ?? []);
  const named = [
    namedRows('requests', ['_id', '_condition', '_at', '_has_all_fields', ...ofRequest]),
    changedRows(notes),
    ...queriesOf(parts),
    `admitted AS MATERIALIZED (
      SELECT ${['_position', 'id', ...ofRequest].join(', ')} FROM requests CROSS JOIN ${TARGET}
      WHERE ${conditions.join(' AND ') || 'TRUE'})`,
    ...added.flatMap(({ queries = [] }) => queries),
  ].join(',\n    ');
  const stepsOf = (writes: readonly Columns[]): Steps => {
    const entries = writes.flatMap((each) => Object.entries(each));
    const step = (write: string): Step => ({ named, write, ignoresRows: true });
    return Object.fromEntries(entries.map(([name, write]) => [name, step(write)]));
  };
  const once = Object.entries(reportsOf(parts)).map(([name, sql]) => [
    name,
    `iif(_position = 0, ${sql}, NULL)`,
  ]);
  const differs = added.flatMap((each) => each.differs ?? []);
  const isChanged = `sent._position IN (SELECT admitted._position FROM admitted)
    AND (${[...IS_GIVEN, ...differs].join(' OR ')})`;
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
    ...stepsOf(added.map(({ steps }) => steps)),
    update: updating(notes, true, named, isChanged, differs),
    ...stepsOf(added.map(({ last = {} }) => last)),
  };
}
