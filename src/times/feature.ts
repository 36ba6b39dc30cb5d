// The times of records that were created elsewhere: a copy keeps them.
import { validationFailed } from '../contract/endpoint.ts';
import { violationAt } from '../contract/violations.ts';
import type { Violation } from '../http/problem.ts';
import type { WritePart } from '../records/creation.ts';
import type { RecordFeature } from '../records/feature.ts';
import { CHANGES, LAST_NUMBER } from '../storage/numbers.ts';
import { NOW } from '../storage/parameter.ts';
import type { Values } from '../storage/writer.ts';
import { parseTime } from '../time.ts';

/** Other times cannot be written in RFC 3339 in UTC. */
const MIN_MS = Date.parse('0000-01-01T00:00:00Z');
const MAX_MS = Date.parse('9999-12-31T23:59:59.999Z');
const OUTSIDE = 'must lie in the years 0000 to 9999 (UTC)';

/** The part of given times in creations. */
const GIVEN_TIMES: WritePart = {
  read({ call: { format } }, bodies) {
    if (!bodies.some((body) => body.created_at ?? body.updated_at)) return undefined;
    const violations: Violation[] = [];
    const values = bodies.map((body, row): Values => {
      const at = format === 'lines' ? `/${row}` : '';
      const created = timeIn(body.created_at ?? body.updated_at);
      const updated = timeIn(body.updated_at ?? body.created_at);
      const before = violations.length;
      for (const [name, ms] of Object.entries({ created_at: created, updated_at: updated }))
        if (ms !== null && (ms < MIN_MS || ms > MAX_MS) && body[name])
          violations.push(violationAt(`${at}/${name}`, 'format', OUTSIDE));
      if (violations.length === before && Number(updated) < Number(created))
        violations.push(
          violationAt(`${at}/updated_at`, 'minimum', 'must not be before created_at'),
        );
      return [created, updated];
    });
    if (violations.length > 0) throw validationFailed(violations);
    return { values, settle: () => ({}) };
  },
  sent: ['_created', '_updated'],
  admits: 'TRUE',
  columns: {},
  times: { created_at: `coalesce(_created, ${NOW})`, updated_at: `coalesce(_updated, ${NOW})` },
  // The log tells when the service stored the records.
  around: (others, named) => ({
    ...others,
    logNow: named(`
      UPDATE ${CHANGES} SET at = ${NOW}
      WHERE number > ${LAST_NUMBER} - (SELECT max(_position) + 1 FROM admitted)`),
  }),
};

/** The times that creations of any resource can be given. */
export function times(): RecordFeature {
  return { inWrites: () => GIVEN_TIMES };
}

/** Returns ms since 1970; null for null. The contract has checked the form. */
function timeIn(text: unknown): number | null {
  return parseTime(String(text))?.floor ?? null;
}
