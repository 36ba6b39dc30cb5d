// AVA runs tests in worker threads.
import { isMainThread } from 'node:worker_threads';
import test from 'ava';
import { createApp } from 'notes-server';

test('a demonstration in a worker thread', async (t) => {
  const service = createApp({ db: ':memory:' });
  const headers = { 'content-type': 'application/json' };
  const body = '{"workers":2,"count":5}';
  const url = `${await service.listen()}/counter/increment`;
  t.is((await fetch(url, { method: 'POST', headers, body })).status, 200);
  t.false(isMainThread);
  await service.close();
});
