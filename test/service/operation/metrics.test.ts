// GET /metrics: what is counted, the names, and that clients cannot make it grow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { metrics } from '../../../src/metrics/feature.ts';
import { EMPTY_CALL } from '../../support/bare-server.ts';
import { needsFile } from '../../support/engine.ts';
import {
  counted,
  type Family,
  lookups,
  parseExposition,
  REQUESTS,
  sampleOf,
} from '../../support/exposition.ts';
import { exchange, exchangeLast, openSocket } from '../../support/raw.ts';
import { optionsFor, type Service, startService } from '../../support/service.ts';
import { root } from '../../support/sources.ts';
import { whileLocked } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

const post = (service: Service, json: object = NOTE) => service.request('POST', '/notes', { json });

async function metricsOf(service: Service): Promise<Map<string, Family>> {
  const answer = await service.request('GET', '/metrics');
  assert.equal(answer.status, 200);
  return parseExposition(answer.text);
}

function bounds(families: Map<string, Family>, name: string): string[] {
  return [...new Set((families.get(name)?.samples ?? []).flatMap(({ labels }) => labels.le ?? []))];
}

test('metrics: the text format of Prometheus, and the names', async (t) => {
  const service = await startService(t);
  await post(service);
  const answer = await service.request('GET', '/metrics');
  assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(answer.headers['cache-control'], 'no-store');
  const families = parseExposition(answer.text);
  const HISTOGRAMS = [REQUESTS, 'notes_batch_items', 'notes_batch_duration_seconds'];
  for (const [name, { type }] of families) {
    const other = name.endsWith('_total') ? 'counter' : 'gauge';
    assert.equal(type, HISTOGRAMS.includes(name) ? 'histogram' : other, name);
  }
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  assert.equal(sampleOf(families, 'notes_build_info', { version }), 1);
  // The buckets of OpenTelemetry's semantic conventions for HTTP metrics.
  const seconds = '0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 +Inf';
  assert.equal(bounds(families, REQUESTS).join(' '), seconds);
});

test('metrics: requests count once, by method, route and status', async (t) => {
  const service = await startService(t);
  const began = performance.now();
  await post(service);
  const tookS = (performance.now() - began) / 1_000;
  await post(service, {});
  for (const id of [1, 1, 2]) await service.request('GET', `/notes/${id}`);
  await service.request('HEAD', '/notes/1?include=times');
  await service.request('DELETE', '/nowhere');
  await exchangeLast(service, 'PROPFIND /notes');
  await exchange(service, 'NONSENSE\r\n\r\n');
  const families = await metricsOf(service);
  for (const [method, route, status, count] of [
    ['POST', '/notes', 201, 1],
    ['POST', '/notes', 422, 1],
    ['GET', '/notes/{note_id}', 200, 2],
    ['GET', '/notes/{note_id}', 404, 1],
    ['HEAD', '/notes/{note_id}', 200, 1],
    ['DELETE', '', 404, 1],
    ['_OTHER', '/notes', 405, 1],
  ] as const) {
    assert.equal(counted(families, method, route, status), count, `${method} ${route} ${status}`);
  }
  const all =
    families.get(REQUESTS)?.samples.filter(({ name }) => name === `${REQUESTS}_count`) ?? [];
  assert.equal(
    all.reduce((sum, { value }) => sum + value, 0),
    8,
  );
  assert.equal(
    sampleOf(families, 'notes_http_refused_total', { http_response_status_code: '400' }),
    1,
  );
  const createdS = sampleOf(families, `${REQUESTS}_sum`, { http_response_status_code: '201' });
  const writtenS = sampleOf(families, 'notes_batch_duration_seconds_sum', { batch: 'write' });
  assert.ok(
    0 < writtenS && writtenS <= createdS && createdS <= tookS,
    `${writtenS} ${createdS} ${tookS}`,
  );
});

test('metrics: active requests, and clients gone before the answer', async (t) => {
  const service = await startService(t);
  const socket = await openSocket(service);
  socket.write('POST /notes HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{"title":');
  await until(async () => sampleOf(await metricsOf(service), 'http_server_active_requests') === 2);
  socket.destroy();
  await until(async () => counted(await metricsOf(service), 'POST', '/notes', '') === 1);
  assert.equal(sampleOf(await metricsOf(service), 'http_server_active_requests'), 1);
});

test('metrics: no text of clients becomes a label', async (t) => {
  const service = await startService(t);
  const series = (families: Map<string, Family>) => families.get(REQUESTS)?.samples.length;
  const sendAll = async (name: string) => {
    for (const start of ['/', '/notes/', '/docs/', '/problems/', '/notes?a=1&'])
      await service.request('GET', `${start}${name}`, {
        headers: { host: `${name}.localhost`, 'x-request-id': name },
      });
  };
  await sendAll('first');
  await metricsOf(service);
  const before = series(await metricsOf(service));
  for (let count = 0; count < 5; count += 1) await sendAll(`made-up-${count}`);
  const answer = await service.request('GET', '/metrics');
  assert.equal(series(parseExposition(answer.text)), before);
  assert.doesNotMatch(answer.text, /made-up/);
});

test('metrics: batches with their sizes and times', async (t) => {
  const service = await startService(t, { cacheSizeMib: 0 });
  await Promise.all(Array.from({ length: 30 }, () => post(service)));
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => service.request('GET', `/notes/${index + 1}`)),
  );
  await Promise.all([
    service.request('GET', '/notes'),
    service.request('GET', '/tags?offset=5000'),
  ]);
  const families = await metricsOf(service);
  for (const [batch, items] of [
    ['write', 30],
    ['read', 20],
    ['page', 2],
  ] as const) {
    assert.equal(sampleOf(families, 'notes_batch_items_sum', { batch }), items, batch);
    const batches = sampleOf(families, 'notes_batch_items_count', { batch });
    assert.ok(batches >= 1 && batches <= items, batch);
    assert.equal(sampleOf(families, 'notes_batch_duration_seconds_count', { batch }), batches);
    assert.ok(sampleOf(families, 'notes_batch_duration_seconds_sum', { batch }) > 0);
    assert.equal(sampleOf(families, 'notes_batch_waiting', { batch }), 0);
  }
  assert.ok(
    sampleOf(families, 'notes_batch_items_count', { batch: 'write' }) < 30,
    'no batch had two items',
  );
});

test('metrics: writes that wait for the database', { skip: needsFile }, async (t) => {
  const service = await startService(t);
  const waited = await whileLocked(service.file, async () => {
    const notes = Array.from({ length: 6 }, () => post(service));
    await until(
      async () => sampleOf(await metricsOf(service), 'notes_batch_waiting', { batch: 'write' }) > 0,
    );
    return { notes };
  });
  await Promise.all(waited.notes);
  assert.equal(sampleOf(await metricsOf(service), 'notes_batch_waiting', { batch: 'write' }), 0);
});

test('metrics: what is in memory, and how often', { skip: needsFile }, async (t) => {
  for (const [cacheSizeMib, found] of [
    [64, [2, 2]],
    [0, [0, 0]],
  ] as const) {
    const service = await startService(t, { cacheSizeMib });
    for (const path of ['/notes/1', '/notes', '/notes', '/notes'])
      await service.request('GET', path);
    const families = await metricsOf(service);
    assert.deepEqual(lookups(families), found);
    assert.equal(sampleOf(families, 'notes_cache_bytes') > 0, cacheSizeMib > 0);
  }
});

test('metrics: file sizes, of a file alone', { skip: needsFile }, async (t) => {
  const [file, memory] = [await startService(t), await startService(t, { db: ':memory:' })];
  await post(file);
  const families = await metricsOf(file);
  for (const name of ['main', 'wal'])
    assert.ok(sampleOf(families, 'notes_database_file_bytes', { file: name }) > 0);
  assert.deepEqual((await metricsOf(memory)).get('notes_database_file_bytes')?.samples, []);
});

test('metrics: the process', async (t) => {
  const { timeOrigin } = performance;
  const start = performance.now();
  const elapsedS = () => (performance.now() - start) / 1e3;
  const service = await startService(t);
  const cpuS = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
  const { rss, heapUsed } = process.memoryUsage();
  const cpuBefore = cpuS();
  const families = await metricsOf(service);
  for (const [name, low, high] of [
    ['process_start_time_seconds', (timeOrigin - 1) / 1e3, (timeOrigin + 1) / 1e3],
    ['process_cpu_seconds_total', cpuBefore, cpuS()],
    // A collection of garbage may come before the reading or after it.
    ['process_resident_memory_bytes', rss / 2, rss * 2],
    ['v8js_memory_heap_used_bytes', heapUsed / 2, heapUsed * 2],
    ['nodejs_eventloop_utilization_ratio', 0, 1],
    ['nodejs_eventloop_delay_p99_seconds', 0, elapsedS()],
    ['nodejs_eventloop_delay_max_seconds', 0, elapsedS()],
  ] as const) {
    const value = sampleOf(families, name);
    assert.ok(low <= value && value <= high, `${name}: ${low} ${value} ${high}`);
  }
  const readLoop = async () => {
    const read = await metricsOf(service);
    const names = ['delay_max_seconds', 'delay_p99_seconds', 'utilization_ratio'];
    return names.map((name) => sampleOf(read, `nodejs_eventloop_${name}`));
  };
  await until(async () => {
    // A reading resets the measurement, which resumes at the next tick of its timer.
    for (let count = 0; count < 3; count += 1) {
      const end = performance.now() + 70;
      while (performance.now() < end);
      await nextTurn();
    }
    const [longestS = 0, p99S = 0, utilization = 0] = await readLoop();
    assert.ok(Math.max(longestS, p99S) < elapsedS(), `${longestS} s, ${p99S} s`);
    return Math.min(longestS, p99S, utilization) > 0.05;
  });
  await until(async () => ((await readLoop())[0] ?? 1) < 0.05);
});

test('metrics: a removed key is left out, whatever other processes have counted', async () => {
  const keys = ['removed', 'present'].map((label) => [label, [1, 0, 0, 0]] as const);
  const share = () => async () => ({ metrics: {}, keys });
  const { routes, close } = metrics(optionsFor().db, () => ['present'], share);
  const [route] =
    routes?.({ baseUrl: '', problemBase: '' }, { routes: () => [], readings: {} }) ?? [];
  const { body } = (await route?.handle(EMPTY_CALL)) ?? {};
  await close?.();
  const { samples } = parseExposition(String(body)).get('notes_key_requests_total') ?? {};
  assert.deepEqual(
    samples?.map(({ labels }) => labels.key),
    ['present'],
  );
});

test('metrics: an option turns them off', async (t) => {
  const service = await startService(t, { noMetrics: true });
  assert.equal((await service.request('GET', '/metrics')).status, 404);
  assert.equal((await post(service)).status, 201);
});
