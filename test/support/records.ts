// What a record looks like. Tests name the members that they speak of and get the others from here,
// so that a new optional field breaks no other test.
import assert from 'node:assert/strict';
import type { Field, FieldValue, Resource } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';

/** Members of a record by name. */
export type Members = Readonly<Record<string, FieldValue | null>>;

/** Returns the value that tests give to a field of which they do not speak: its default, if any. */
export function sampleOf({ type, default: byDefault }: Field): FieldValue {
  return byDefault ?? { text: 'x', boolean: true, integer: 1 }[type];
}

/** Returns the defaults of the fields that have one. */
export function defaultsOf({ fields }: Resource): Record<string, FieldValue> {
  const optional = Object.entries(fields).filter(([, field]) => field.default !== undefined);
  return Object.fromEntries(optional.map(([name, field]) => [name, sampleOf(field)]));
}

/** Returns the record as answered: ordered, and with the defaults of what `record` lacks. */
export function expected(record: object): Record<string, unknown> {
  const resource = RESOURCES.find(({ fields, owner }) => {
    const required = Object.keys(fields).filter((name) => fields[name]?.default === undefined);
    return [...required, owner?.column ?? 'id'].every((name) => name in record);
  });
  assert.ok(resource, `no resource has the members ${Object.keys(record)}`);
  const known: Record<string, unknown> = { ...defaultsOf(resource), ...record };
  const first = ['id', ...(resource.owner ? [resource.owner.column] : [])];
  const names = [...first, ...Object.keys(resource.fields)];
  const ordered = Object.fromEntries(names.map((name) => [name, known[name]]));
  return { ...ordered, ...known };
}

/** Returns the line of an export for a record or a tag on a note, without a newline. */
export function exportLine({ type, ...record }: { type: string; id?: number }): string {
  return JSON.stringify({ type, ...('id' in record ? expected(record) : record) });
}

/** Returns the JSON of {@link expected}. */
export function expectedText(record: object): string {
  return JSON.stringify(expected(record));
}
