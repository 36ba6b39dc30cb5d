// A program that follows the changes of a service into a database of its own, and can be killed at
// any time: `node mirror-program.js FILE URL`. It reads streams and pages in turn.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { readAllRecords } from './all-records.ts';
import { type Answer, send } from './http.ts';
import { between, brokenConnection, oneIn, Refused } from './ledger.ts';
import { MirrorDatabase, type MirroredChange } from './mirror-database.ts';

/** The pause after a failure. */
const RETRY_MS = 10;

/** The most changes of one stream, and the most pages, before the other way is tried. */
const MAX_EVENTS = 3_000;
const MAX_PAGES = 10;

/** The service has no longer all changes since the cursor. */
class Expired extends Error {}

const [path = '', url = ''] = process.argv.slice(2);
const mirror = await MirrorDatabase.open(path);

function checkStatus({ status, json, text }: Pick<Answer, 'status' | 'json' | 'text'>): void {
  if (status === 503) throw new Refused();
  if (status === 410 && json.type.endsWith('/cursor-expired')) throw new Expired();
  assert.equal(status, 200, text);
}

/** Resolves with whether the work was done; otherwise it can be tried again. */
async function attempt(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof Refused || brokenConnection(error))) throw error;
    await delay(RETRY_MS);
    return false;
  }
}

async function get(path: string): Promise<Answer> {
  let answer: Answer | undefined;
  const ask = async () => {
    answer = await send(url, 'GET', path);
    if (answer.status === 503) throw new Refused();
  };
  while (!(await attempt(ask)));
  assert.ok(answer);
  return answer;
}

/** Takes the cursor first, so that it misses no change of what it then reads. */
async function startOver(): Promise<void> {
  const { json } = await get('/changes');
  await mirror.startOver(await readAllRecords(get), json.next);
}

async function followPages(): Promise<void> {
  for (let pages = between(1, MAX_PAGES); pages > 0; pages -= 1) {
    const query = `since=${await mirror.cursor()}&limit=${between(1, 1_000)}&wait=${between(0, 1)}`;
    const answer = await send(url, 'GET', `/changes?include=record&${query}`);
    checkStatus(answer);
    await mirror.apply(answer.json.items, answer.json.next, 'page');
  }
}

/** Opens a stream after the cursor, which it sends in one of two ways. */
async function openStream(): Promise<IncomingMessage> {
  const cursor = String(await mirror.cursor());
  const isHeader = oneIn(2);
  const sent = request(`${url}/changes?include=record${isHeader ? '' : `&since=${cursor}`}`, {
    headers: { accept: 'text/event-stream', ...(isHeader && { 'last-event-id': cursor }) },
    agent: false,
  });
  // If the connection breaks after the head, the response fails as well.
  sent.on('error', () => {});
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  const { statusCode: status = 0 } = response;
  if (status === 200) return response;
  const text = (await response.toArray()).join('');
  checkStatus({ status, text, json: JSON.parse(text) });
  return assert.fail(text);
}

async function followStream(): Promise<void> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), onError: assert.ifError });
  let left = between(1, MAX_EVENTS);
  for await (const part of await openStream()) {
    parser.feed(part);
    const changes = events.splice(0).map(changeOf);
    const next = changes.at(-1)?.id;
    if (next !== undefined) await mirror.apply(changes, next, 'stream');
    left -= changes.length;
    if (left <= 0) return;
  }
}

function changeOf({ id, event, data }: EventSourceMessage): MirroredChange {
  const change = JSON.parse(data);
  assert.deepEqual([change.id, change.type], [id, event]);
  return change;
}

for (;;) {
  try {
    if ((await mirror.cursor()) === undefined) await startOver();
    await attempt(oneIn(2) ? followPages : followStream);
  } catch (error) {
    if (!(error instanceof Expired)) throw error;
    await startOver();
  }
}
