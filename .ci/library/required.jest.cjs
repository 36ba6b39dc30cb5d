// A test in Jest that is no ECMAScript module.
let service;
let url = '';
beforeAll(async () => {
  const { createApp } = await import('notes-server');
  service = createApp({ db: ':memory:' });
  url = await service.listen();
});
afterAll(() => service.close());

test('the service answers', async () => {
  expect((await fetch(`${url}/health`)).status).toBe(200);
});
