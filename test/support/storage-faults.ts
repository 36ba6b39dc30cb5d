// What the tests of storage faults share: how an answer looks that the database could not give, and when all is well.
import assert from 'node:assert/strict';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';

/** A note that fits anywhere. */
export const NOTE = { title: 'a', body: 'b' };

/** Asserts that the answer says that the database cannot serve now, and nothing of why. */
export function assertUnavailable({ status, json, headers }: Answer): void {
  assert.equal(status, 503);
  assert.match(json.type, /\/problems\/service-unavailable$/);
  assert.equal(json.detail, 'The database cannot serve this request now.');
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

/** Whether the service says that its database answers. */
export async function isHealthy(service: Service): Promise<boolean> {
  return (await service.request('GET', '/health')).json.db === 'ok';
}
