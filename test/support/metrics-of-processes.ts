// The metrics of several processes, which any one of them answers for all.
import assert from 'node:assert/strict';
import { counted, type Family, parseExposition, sampleOf } from './exposition.ts';
import { request } from './http.ts';

/** Resolves with the metrics of all processes. */
export async function metricsOfAll(url: string): Promise<Map<string, Family>> {
  return parseExposition((await request(url, 'GET', '/metrics')).text);
}

/** Returns how many notes were created. */
export function created(families: Map<string, Family>): number {
  return counted(families, 'POST', '/notes', 201);
}

/** Creates notes, and asserts that each answer counts those of all processes. */
export async function assertCountedTogether(url: string, notes: number): Promise<void> {
  const before = created(await metricsOfAll(url));
  const json = { title: 'a', body: 'b' };
  for (let count = 0; count < notes; count += 1)
    assert.equal((await request(url, 'POST', '/notes', { json })).status, 201);
  for (let count = 0; count < 4; count += 1) {
    const families = await metricsOfAll(url);
    assert.equal(created(families), before + notes);
    assert.equal(sampleOf(families, 'http_server_active_requests'), 1);
  }
}
