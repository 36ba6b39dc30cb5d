// Helpers shared by the tests of storage faults.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** A small note. */
export const NOTE = { title: 'a', body: 'b' };

/** The detail of an answer if there is no room. */
export const DISK_FULL = 'The disk is full: writes are refused, most reads go on.';

/** Asserts that the answer reports an unavailable database, by default without the reason. */
export function assertUnavailable(
  { status, json, headers }: Answer,
  detail = 'The database cannot serve this request now.',
): void {
  assert.equal(status, 503);
  assert.match(json.type, /\/problems\/service-unavailable$/);
  assert.equal(json.detail, detail);
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

/** Whether the health of the service reports a database that answers. */
export async function isHealthy(service: Service): Promise<boolean> {
  return (await service.request('GET', '/health')).json.db === 'ok';
}
