// The times of records that were created elsewhere: a copy keeps them.
import { validationFailed } from '../contract/endpoint.ts';
import { rowPointer, violationAt } from '../contract/violations.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { WritePart } from '../records/parts.ts';
import type { Resource } from '../resources/resource.ts';
import { CHANGES } from '../storage/numbers.ts';
import { NOW } from '../storage/parameter.ts';
import { parseTime } from '../time.ts';

/** The first and the last time that RFC 3339 can write in UTC. */
const MIN_MS = Date.parse('0000-01-01T00:00:00Z');
const MAX_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The part of given times in creations of a resource. */
const timesOf = ({ table }: Resource): WritePart => ({
  name: 'times',
  askedBy: ['created_at', 'updated_at'],
  read({ call: { format } }, bodies) {
    const values = bodies.map(({ created_at: created, updated_at: updated }) => [
      timeIn(created ?? updated),
      timeIn(updated ?? created),
    ]);
    const violations = values.flatMap(([created, updated], row) => {
      if (Number(updated) >= Number(created)) return [];
      const at = `${rowPointer(row, format)}/updated_at`;
      return [violationAt(at, 'minimum', 'must not be before created_at')];
    });
    if (violations.length > 0) throw validationFailed(violations);
    return { times: { ofRecords: values } };
  },
  ofRecords: ['_created', '_updated'],
  times: { created_at: `coalesce(_created, ${NOW})`, updated_at: `coalesce(_updated, ${NOW})` },
  // The log tells when the service stored the records.
  after: {
    logNow: `
      UPDATE ${CHANGES} SET at = ${NOW} WHERE number IN (
        SELECT ${table}.number FROM created CROSS JOIN ${table} ON ${table}.id > _last_id)`,
  },
});

/** The times that creations of any resource can be given. */
export function times(): RecordFeature {
  return { inWrites: (resource) => [timesOf(resource)] };
}

/** Returns ms since 1970; null for null. The contract has checked the form. */
function timeIn(text: unknown): number | null {
  const time = parseTime(String(text));
  return time ? Math.min(Math.max(time.floor, MIN_MS), MAX_MS) : null;
}
