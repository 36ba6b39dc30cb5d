// Generates the load with autocannon if wrk is not installed: the same work as work.lua, and the
// same line of JSON at the end.
//   node autocannon.mjs URL WORK CONNECTIONS SECONDS NOTES
import { createRequire } from 'node:module';

const autocannon = createRequire(new URL('peers/package.json', import.meta.url))('autocannon');
const [url, work, connections, seconds, notes] = process.argv.slice(2);
const TEXT = 'A body that is somewhat longer, as the bodies of notes tend to be.';
const count = Number(notes);
const headers = { 'content-type': 'application/json' };
const random = (most) => 1 + Math.floor(Math.random() * most);

const get = () => ({ method: 'GET', path: `/notes/${random(count)}` });
const list = (offset, path = '/notes') => ({ method: 'GET', path: `${path}?offset=${offset}` });
const written = (method, path, body) => ({
  ...{ method, path, headers },
  body: JSON.stringify({ title: 'A title of usual length', body }),
});
const put = () => written('PUT', `/notes/${random(count)}`, `${TEXT} ${random(1e9)}`);
const WORKS = {
  get,
  put,
  post: () => written('POST', '/notes', TEXT),
  page: () => list(random(count - 20)),
  first: () => list(0),
  middle: () => list(count >> 1),
  last: () => list(count - 20),
  comments_first: () => list(0, '/notes/1/comments'),
  comments_last: () => list(count - 20, '/notes/1/comments'),
  mix: () => (random(10) === 1 ? put() : get()),
};

const setupRequest = (request) => ({ ...request, body: undefined, headers: {}, ...WORKS[work]() });
const result = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  requests: [{ setupRequest }],
});
const { requests, errors, timeouts, non2xx, latency } = result;
const failed = errors + timeouts + non2xx;
console.log(
  JSON.stringify({
    requests: requests.total,
    seconds: result.duration,
    failed,
    p50: latency.p50,
    p99: latency.p99,
  }),
);
