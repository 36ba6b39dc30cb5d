// Reads a stream of server-sent events with a parser of others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Ends } from './engine.ts';
import { until } from './until.ts';

/** A stream that is open until it is closed. */
export interface EventStream {
  readonly headers: IncomingHttpHeaders;
  readonly events: readonly EventSourceMessage[];
  readonly comments: readonly string[];
  text(): string;
  retryMs(): number | undefined;
  /** Resolves with the changes of the first `count` events, once they have been received. */
  changes(count: number): Promise<Record<string, unknown>[]>;
  hasEnded(): boolean;
  /** Stops and continues to read. */
  readonly response: IncomingMessage;
  close(): void;
}

/** Opens a stream of the service at `url`; it is closed at the end of the test. */
export async function openStream(
  t: Ends,
  url: string,
  path = '/changes',
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const sent = request(`${url}${path}`, {
    headers: { accept: 'text/event-stream', ...headers },
    agent: false,
  });
  sent.on('error', () => {});
  t.after(() => sent.destroy());
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  let text = '';
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => comments.push(comment),
    onRetry: (ms) => {
      retryMs = ms;
    },
    onError: assert.ifError,
  });
  response.setEncoding('utf8').on('error', () => {});
  response.on('data', (part: string) => {
    text += part;
    parser.feed(part);
  });
  return {
    headers: response.headers,
    events,
    comments,
    text: () => text,
    retryMs: () => retryMs,
    async changes(count) {
      await until(() => events.length >= count);
      for (const { id, event, data } of events) {
        const change = JSON.parse(data);
        assert.deepEqual([change.id, change.type], [id, event]);
      }
      return events.slice(0, count).map(({ data }) => JSON.parse(data));
    },
    hasEnded: () => response.complete,
    response,
    close: () => void sent.destroy(),
  };
}
