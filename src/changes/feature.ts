// What has changed since a cursor: a page in JSON, or a stream of server-sent events.

import { endpoint, type Input, validationFailed } from '../contract/endpoint.ts';
import type { EarlyFeature } from '../feature.ts';
import { parseWeights, preferredType } from '../http/accept.ts';
import { JSON_LINES } from '../http/body/formats.ts';
import type { Bases } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import { type Chunk, jsonReply, type Reply } from '../http/reply.ts';
import type { Call } from '../http/route.ts';
import type { Database } from '../storage/database.ts';
import { parseTime } from '../time.ts';
import {
  type Changes,
  type ChangesRequest,
  type Cursor,
  cursorText,
  ownSelection,
  parseCursor,
} from './changes.ts';
import { ChangeFeed } from './feed.ts';

interface ChangesQuery {
  readonly since?: string;
  readonly limit: number;
  /** In seconds. */
  readonly wait: number;
  readonly type?: readonly string[];
  readonly tag?: readonly string[];
  readonly fields?: readonly string[];
  readonly include?: readonly string[];
}

type ChangesInput = Input<ChangesQuery, unknown>;

/** The times of a stream; tests change them. */
export const STREAM_TIMES = {
  /** Some proxies disconnect what is silent for 30 seconds. */
  commentMs: 15_000,
};

/** What is no time. */
const CURSOR = /^[0-9a-f]{8}-\d+$/;

const EVENT_STREAM = 'text/event-stream';
const NO_STORE = ['cache-control', 'no-store', 'vary', 'accept'];
// nginx would buffer the stream.
const STREAM_HEADERS = ['content-type', EVENT_STREAM, ...NO_STORE, 'x-accel-buffering', 'no'];

/** The media types of pages, the most specific first. */
const PAGE_TYPES = ['application/json', JSON_LINES, 'application/*', '*/*'];

/** The events of changes that several streams may send. */
const knownEvents = new WeakMap<Changes, Buffer>();

/** The log of changes at /changes, and the clients that follow it. */
export function changes(database: Database): EarlyFeature {
  const feed = new ChangeFeed(database);
  return {
    routes(bases, { selects = ownSelection }) {
      feed.selects = selects;
      const route = endpoint<ChangesQuery>('GET', '/changes', async (input) => {
        if (wantsStream(input.call)) return openStream(feed, input);
        return pageReply(await readPage(feed, input), input.call, bases);
      });
      return [route];
    },
    commits: { end: feed.beginRoundSoon },
    // A stream ends with its key.
    onKeysChanged: feed.beginRoundSoon,
    stop: () => feed.close(),
  };
}

/** Returns which changes a client asks for, and what they have. Throws 422 without records. */
function askedIn({ type: types = [], tag, fields = [], include = [] }: ChangesQuery) {
  const withRecords = include.includes('record');
  const refuse = (field: string) => {
    const detail = 'must not be given without include=record';
    throw validationFailed([{ field, in: 'query', code: 'dependentRequired', detail }]);
  };
  if (fields.length > 0 && !withRecords) refuse('fields');
  if (include.length > 0 && !withRecords) refuse('include');
  return { withRecords, types, parameters: { tag, fields, include } };
}

/** Resolves with the cursor at which a client begins. Throws 410, and 422 for what is no time. */
async function startAt(feed: ChangeFeed, since: string, call: Call): Promise<Cursor> {
  if (CURSOR.test(since)) return parseCursor(since);
  const time = parseTime(since);
  if (time) return (await feed.cursorAt(time.ceiling, call)) ?? expired();
  const detail = 'must be a time that exists';
  throw validationFailed([{ field: 'since', in: 'query', code: 'format', detail }]);
}

/** Whether a client prefers streams; generated clients name both media types and expect JSON. */
function wantsStream({ headers }: Call): boolean {
  const weights = parseWeights(headers.accept);
  const weight = weights.get(EVENT_STREAM) ?? 0;
  const pageType = PAGE_TYPES.find((type) => weights.has(type)) ?? '';
  return weight > (weights.get(pageType) ?? 0);
}

async function readPage(feed: ChangeFeed, { parameters, call }: ChangesInput): Promise<Changes> {
  const { since, limit, wait } = parameters;
  const asked = askedIn(parameters);
  if (since === undefined) return { items: [], next: await feed.lastCursor(), hasMore: false };
  let after = await startAt(feed, since, call);
  const deadline = performance.now() + wait * 1_000;
  const signal = wait > 0 ? call.inputSignal() : undefined;
  for (;;) {
    const { round, isClosed } = feed;
    const changes = (await feed.read({ after, limit, ...asked })) ?? expired();
    if (changes.items.length > 0 || isClosed) return changes;
    after = changes.next;
    if (!changes.hasMore) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || !signal) return changes;
      await feed.wait(round, Math.min(leftMs, keyMsIn(call)), signal);
    }
    call.ensureSendable();
    if (signal?.aborted || call.key?.isOver) return changes;
  }
}

function keyMsIn({ key }: Call): number {
  return (key?.expiresMs ?? Number.POSITIVE_INFINITY) - Date.now();
}

function pageReply(changes: Changes, { query, headers }: Call, { baseUrl }: Bases): Reply {
  const { items, next, hasMore } = changes;
  const sent = new URLSearchParams(query);
  sent.set('since', cursorText(next));
  const others = [...NO_STORE, 'link', `<${baseUrl}/changes?${sent}>; rel="next"`];
  const texts = items.map(({ text }) => text);
  if (preferredType(headers.accept, [JSON_LINES])) {
    const body = texts.map((each) => `${each}\n`).join('');
    return { status: 200, headers: ['content-type', JSON_LINES, ...others], body };
  }
  const json = `{"items":[${texts}],"next":"${cursorText(next)}","more":${hasMore}}`;
  return jsonReply(200, json, others);
}

async function openStream(feed: ChangeFeed, input: ChangesInput): Promise<Reply> {
  const { parameters, headers, call } = input;
  const asked = askedIn(parameters);
  const sent = headers['last-event-id'] || parameters.since;
  const after = sent === undefined ? await feed.lastCursor() : await startAt(feed, sent, call);
  const request = { after, limit: 1_000, ...asked };
  const { round } = feed;
  const first = (await feed.read(request)) ?? expired();
  // It tells a client without a cursor where the stream begins; some libraries report it.
  const id = CURSOR.test(sent ?? '') ? '' : `id: ${cursorText(after)}\n\n`;
  const start = { bytes: Buffer.from(`: changes\nretry: 3000\n${id}`), hasMore: first.hasMore };
  const stream = follow(feed, request, call, { start, changes: first, round });
  return { status: 200, headers: STREAM_HEADERS, stream };
}

/** Yields the events until the client leaves, its key is over, or the service stops. */
async function* follow(
  feed: ChangeFeed,
  request: ChangesRequest,
  call: Call,
  begin: { start: Chunk; changes: Changes; round: number },
): AsyncGenerator<Chunk> {
  const { key } = call;
  const signal = call.inputSignal();
  const isPart = request.types?.length || request.parameters?.tag;
  let knownId = cursorText(request.after);
  yield begin.start;
  let commentedMs = performance.now();
  let { round } = begin;
  let changes: Changes | undefined = begin.changes;
  while (changes) {
    const { items, next, hasMore }: Changes = changes;
    if (items.length > 0) {
      yield { bytes: eventsOf(changes), hasMore };
      knownId = items.at(-1)?.id ?? knownId;
    }
    const nextCommentMs = commentedMs + STREAM_TIMES.commentMs;
    const quietMs = Math.min(nextCommentMs - performance.now(), keyMsIn(call));
    if (!hasMore) await feed.wait(round, quietMs, signal);
    if (key?.isOver || feed.isClosed || signal.aborted) return;
    if (performance.now() >= nextCommentMs) {
      const id = cursorText(next);
      // Of a part of the changes, none may come until a cursor has expired.
      const comment = isPart && id !== knownId ? `id: ${id}\n\n` : ':\n';
      knownId = id;
      yield { bytes: Buffer.from(comment), hasMore };
      commentedMs = performance.now();
    }
    round = feed.round;
    changes = await feed.read({ ...request, after: next });
  }
}

function eventsOf(changes: Changes): Buffer {
  const known = knownEvents.get(changes);
  if (known) return known;
  const events = changes.items.map(
    ({ id, type, text }) => `id: ${id}\nevent: ${type}\ndata: ${text}\n\n`,
  );
  const bytes = Buffer.from(events.join(''));
  knownEvents.set(changes, bytes);
  return bytes;
}

function expired(): never {
  throw new Problem('cursor-expired', 'The log no longer has all changes since then.');
}
