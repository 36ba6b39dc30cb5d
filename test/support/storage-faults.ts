// Helpers shared by the tests of storage faults.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** A small note. */
export const NOTE = { title: 'a', body: 'b' };

/** Asserts that the answer reports an unavailable database, without the reason. */
export function assertUnavailable({ status, json, headers }: Answer): void {
  assert.equal(status, 503);
  assert.match(json.type, /\/problems\/service-unavailable$/);
  assert.equal(json.detail, 'The database cannot serve this request now.');
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

/** Whether the health of the service reports a database that answers. */
export async function isHealthy(service: Service): Promise<boolean> {
  return (await service.request('GET', '/health')).json.db === 'ok';
}
