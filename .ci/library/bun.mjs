// Bun ends by itself only if the service has let go of all that it held.
import assert from 'node:assert/strict';
import { createApp } from 'notes-server';

const service = createApp({ db: ':memory:' });
const url = await service.listen();
const headers = { 'content-type': 'application/json' };
const body = '{"title":"a","body":"b"}';
const created = await fetch(`${url}/notes`, { method: 'POST', headers, body });
assert.equal(created.status, 201);
const read = await fetch(`${url}${created.headers.get('location')}`);
assert.equal((await read.json()).title, 'a');
await service.close();
console.log(`closed in Bun ${process.versions.bun}`);
