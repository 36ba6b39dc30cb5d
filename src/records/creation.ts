// Creations of records. Those that wait share their steps, with the parts that any of them has:
// 1. what parts write first;
// 2. `before` reports on each request;
// 3. `insert` creates the records of the admitted requests;
// 4. parts write what belongs to these records;
// 5. parts write what would refuse the same requests from now on, such as their keys.
import type { FieldValue, Resource } from '../resources/resource.ts';
import type { Row } from '../storage/database.ts';
import { GENERATION, LAST_NUMBER, lastIdSql, tagOf } from '../storage/numbers.ts';
import type { Lists } from '../storage/parameter.ts';
import type { Columns, Step } from '../storage/step.ts';
import type { RowSet, Steps, Values, WriteKind } from '../storage/writer.ts';
import { creationQueries } from './creation-queries.ts';
import {
  type AskedParts,
  judgeBy,
  listsOf,
  NOTHING,
  reportsOf,
  type Verdict,
  type WritePart,
} from './parts.ts';
import { ownerExistsSql, recordText } from './text.ts';
import { insertion, insertSql, newRecords } from './writes.ts';

/** A write that creates records. Its rows are the values of their fields. */
export interface Creation extends RowSet {
  readonly owner: number;
  readonly asked: AskedParts;
}

/** The records of one creation, which have consecutive ids. */
export interface Created extends Verdict {
  readonly id: number;
  readonly tag: string;
  readonly texts: readonly string[];
}

/** Returns the creations of a resource. */
export function creationOf(
  resource: Resource,
  parts: readonly WritePart[],
): WriteKind<Creation, Created | undefined> {
  const plain = { insert: insertion(resource) };
  const stepsByParts = new Map<string, Steps>();
  return {
    steps(writes) {
      const asked = partsOf(parts, writes);
      if (asked.length === 0) return plain;
      const names = asked.map(({ name }) => name).join();
      const steps = stepsByParts.get(names) ?? stepsWith(resource, asked);
      stepsByParts.set(names, steps);
      return steps;
    },
    lists(writes) {
      const asked = partsOf(parts, writes);
      return asked.length === 0 ? { sent: writes.flatMap(rowsOf) } : listsWith(asked, writes);
    },
    outcomes: (writes, { insert = [], before }) =>
      before?.[0]
        ? outcomesWith(resource, writes, before[0])
        : plainOutcomes(resource, writes, insert),
    changes: (_, created) =>
      !created || created.earlier || created.refusal ? [] : [[resource.table, created.id]],
  };
}

function partsOf(parts: readonly WritePart[], writes: readonly Creation[]): readonly WritePart[] {
  const joint = writes.filter(({ asked }) => asked !== NOTHING);
  if (joint.length === 0) return [];
  return parts.filter(({ name }) => joint.some(({ asked }) => name in asked));
}

function rowsOf({ owner, rows }: Creation): Values[] {
  return rows.map((values) => [owner, ...values]);
}

/** Returns the outcomes, given the records that were created. */
function plainOutcomes(
  resource: Resource,
  writes: readonly Creation[],
  insert: readonly Row[],
): (Created | undefined)[] {
  const created = insert.toSorted((one, other) => Number(one.id) - Number(other.id));
  const owners = resource.owner && new Set(created.map(({ owner }) => owner));
  let next = 0;
  return writes.map((write) => {
    const first = created[next];
    if (!first || owners?.has(write.owner) === false) return undefined;
    next += write.rows.length;
    const id = Number(first.id);
    return { id, tag: String(first.tag), texts: textsOf(resource, id, write) };
  });
}

function textsOf(resource: Resource, id: number, { owner, rows }: Creation): string[] {
  return rows.map((values, index) => recordText(resource, id + index, owner, values));
}

/** Returns the lists of requests and of records, and those of parts. */
function listsWith(parts: readonly WritePart[], writes: readonly Creation[]): Lists {
  const requests: Values[] = [];
  const sent: Values[] = [];
  for (const [request, { owner, rows, asked }] of writes.entries()) {
    const ofRequest: FieldValues = [owner, rows.length, sent.length];
    for (const part of parts)
      if (part.ofRequest) ofRequest.push(...(asked[part.name]?.ofRequest ?? nulls(part.ofRequest)));
    requests.push(ofRequest);
    for (const [index, row] of rows.entries()) {
      const ofRecord: FieldValues = [owner, ...row, request];
      for (const { name, ofRecords } of parts)
        if (ofRecords) ofRecord.push(...(asked[name]?.ofRecords?.[index] ?? nulls(ofRecords)));
      sent.push(ofRecord);
    }
  }
  return { requests, sent, ...listsOf(parts, writes) };
}

type FieldValues = (FieldValue | null)[];

const nulls = (columns: readonly string[]) => columns.map(() => null);

/** Returns the steps of creations with parts. */
function stepsWith(resource: Resource, parts: readonly WritePart[]): Steps {
  const named = creationQueries(resource, parts);
  const times = parts.find((part) => part.times)?.times;
  const stepsAt = (place: 'first' | 'after' | 'last') => {
    const writes: Columns = Object.assign({}, ...parts.map((part) => part[place]));
    const entries = Object.entries(writes);
    return Object.fromEntries(
      entries.map(([name, write]) => [name, withoutRows({ named, write })]),
    );
  };
  const owners = ownerExistsSql(resource, '_owner');
  const missing = `(SELECT json_group_array(_position) FROM requests WHERE NOT ${owners}) || ''`;
  const returns = {
    last_id: lastIdSql(resource.table),
    last_number: LAST_NUMBER,
    generation: GENERATION,
    missing: resource.owner ? missing : `'[]'`,
    ...reportsOf(parts),
  };
  return {
    ...stepsAt('first'),
    before: withoutRows({ named, returns, from: '' }),
    insert: {
      named,
      write: insertSql(resource, newRecords(resource, 'FROM admitted_records', times)),
    },
    ...stepsAt('after'),
    ...stepsAt('last'),
  };
}

const withoutRows = (step: Step): Step => ({ ...step, ignoresRows: true });

/** Returns the outcomes of creations with parts, given what was reported before. */
function outcomesWith(resource: Resource, writes: readonly Creation[], before: Row) {
  const judge = judgeBy(before);
  const missing = new Set<number>(JSON.parse(String(before.missing)));
  let [lastId, lastNumber] = [Number(before.last_id), Number(before.last_number)];
  return writes.map((write, request): Created | undefined => {
    const verdict = judge(write, request);
    const { earlier, refusal } = verdict;
    if (!earlier && !refusal && missing.has(request)) return undefined;
    const { id, tag } = earlier ?? {
      id: lastId + 1,
      tag: tagOf(String(before.generation), lastNumber + 1),
    };
    if (!earlier && !refusal) {
      lastId += write.rows.length;
      lastNumber += write.rows.length;
    }
    return { id, tag, texts: textsOf(resource, id, write), ...verdict };
  });
}
