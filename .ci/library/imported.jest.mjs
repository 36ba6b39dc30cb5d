// The example of the guide to testing clients, as an ECMAScript module in Jest.
import { createApp } from 'notes-server';

const service = createApp({ db: ':memory:' });
let url = '';
beforeAll(async () => {
  url = await service.listen();
});
afterAll(() => service.close());

test('a note that was created can be read', async () => {
  const headers = { 'content-type': 'application/json' };
  const body = '{"title":"a","body":"b"}';
  const created = await fetch(`${url}/notes`, { method: 'POST', headers, body });
  const read = await fetch(`${url}${created.headers.get('location')}`);
  expect(await read.text()).toMatch(/"title":"a"/);
});
