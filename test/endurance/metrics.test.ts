// The metrics of several processes, of which one hangs and dies, and another one dies later.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lookups, sampleOf } from '../support/exposition.ts';
import { request } from '../support/http.ts';
import { assertCountedTogether, created, metricsOfAll } from '../support/metrics-of-processes.ts';
import { isAlive, sendSignal, startProcesses } from '../support/processes.ts';
import { residentMegabytesOf } from '../support/threads.ts';

test('metrics: of several processes, two of which die', async (t) => {
  const service = await startProcesses(t, 2);
  await assertCountedTogether(service.url, 8);
  for (let count = 0; count < 4; count += 1) await request(service.url, 'GET', '/notes/1');
  const { size } = statSync(join(service.folder, 'notes.db'));
  for (let count = 0; count < 4; count += 1) {
    const families = await metricsOfAll(service.url);
    assert.equal(created(families), 8);
    const [hits, misses] = lookups(families);
    assert.equal(hits + misses, 4);
    // The search index may have been written, too.
    assert.ok(sampleOf(families, 'notes_batch_items_sum', { batch: 'write' }) >= 8);
    assert.equal(sampleOf(families, 'http_server_active_requests'), 1);
    assert.equal(sampleOf(families, 'notes_database_file_bytes', { file: 'main' }), size);
    // The supervisor, which serves nothing, counts as well.
    const megabytes = sampleOf(families, 'process_resident_memory_bytes') / 1_048_576;
    const members = service.serving().map((pid) => residentMegabytesOf(pid));
    assert.ok(megabytes > members.reduce((sum, each) => sum + each, 20), `${megabytes} ${members}`);
  }

  const [hanging = 0] = service.serving();
  sendSignal(hanging, 'SIGSTOP');
  t.after(() => isAlive(hanging) && sendSignal(hanging, 'SIGCONT'));
  const answers = Array.from({ length: 4 }, () => metricsOfAll(service.url));
  assert.equal(created(await Promise.race(answers)), 8);
  sendSignal(hanging, 'SIGKILL');
  await Promise.allSettled(answers);
  await service.says('process replaced');
  for (let count = 0; count < 4; count += 1) {
    const families = await metricsOfAll(service.url);
    assert.equal(created(families), 8);
    // Gauges of the dead process are gone.
    assert.equal(sampleOf(families, 'http_server_active_requests'), 1);
  }
  await assertCountedTogether(service.url, 1);

  // What the first of two dead processes has counted stays as well.
  const [other] = service.serving();
  const replaced = service.nextLine(({ message }) => message === 'process replaced');
  sendSignal(other, 'SIGKILL');
  await replaced;
  assert.equal(created(await metricsOfAll(service.url)), 9);
});
