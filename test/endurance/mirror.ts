// A client that follows the changes of a service into a mirror of its records, by streams and pages
// in turn, and asserts that each change comes once and in order.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { openPath, rows } from '../support/databases.ts';
import { type Answer, brokenConnection } from '../support/http.ts';
import {
  applyChange,
  assertSameLines,
  assertSameRecords,
  type Change,
  type Records,
  readRecords,
} from '../support/mirrored-records.ts';
import { between, oneIn } from '../support/random.ts';
import type { RestartableService } from '../support/restartable-service.ts';
import { until } from '../support/until.ts';

const RETRY_MS = 10;

const MAX_EVENTS = 3_000;
const MAX_PAGES = 10;

class Refused extends Error {}

/** The service has no longer all changes since the cursor. */
class Expired extends Error {}

/** A mirror that follows until it is stopped. */
export class Mirror {
  readonly #service: RestartableService;
  /** Where it opens streams. */
  readonly #url: string;
  #records: Records = new Map();
  #cursor: string | undefined;
  /** The cursor at which it last began to follow. */
  #start = '';
  #applied: string[] = [];
  #isStopped = false;
  #isPaused = false;
  /** How many changes came in each way, how often it began, and the types of changes. */
  readonly counts = { stream: 0, page: 0, starts: 0 };
  readonly types = new Set<string>();
  /** Rejects at the first error; resolves once it has stopped. */
  readonly ended: Promise<void>;

  constructor(service: RestartableService, url: string) {
    this.#service = service;
    this.#url = url;
    this.ended = this.#follow();
    this.ended.catch(() => {});
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.ended;
  }

  async pause(work: () => Promise<void>): Promise<void> {
    this.#isPaused = true;
    await work();
    this.#isPaused = false;
  }

  /** Resolves when the mirror has all changes. Nobody may write any more. */
  untilCaughtUp(): Promise<void> {
    return until(async () => {
      const path = `/changes?since=${this.#cursor ?? ''}&limit=1`;
      const { status, json } = await this.#service.insist('GET', path);
      return status === 200 && json.items.length === 0;
    });
  }

  /** Resolves with the number of changes in the log of `db` since it began. */
  async assertExact(db: string): Promise<number> {
    const logged = await loggedAfter(db, this.#start);
    assertSameLines(this.#applied, logged, 'changes');
    assertSameRecords(this.#records, await this.#readRecords());
    return logged.length;
  }

  async #follow(): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (this.#isPaused) await delay(RETRY_MS);
        else if (this.#cursor === undefined) await this.#begin();
        else await (this.#takesPages() ? this.#followPages() : this.#followStream());
      } catch (error) {
        if (error instanceof Expired) this.#cursor = undefined;
        else if (error instanceof Refused || brokenConnection(error)) await delay(RETRY_MS);
        else throw error;
      }
    }
  }

  /** By chance, once there were changes in both ways. */
  #takesPages(): boolean {
    const { stream, page } = this.counts;
    return stream > 0 && (page === 0 || oneIn(2));
  }

  /** Takes the cursor first, so that it misses no change of what it then reads. */
  async #begin(): Promise<void> {
    const { json } = await this.#service.insist('GET', '/changes');
    this.#records = await this.#readRecords();
    this.#applied = [];
    this.#start = json.next;
    this.#cursor = json.next;
    this.counts.starts += 1;
  }

  #readRecords(): Promise<Records> {
    return readRecords((path) => this.#service.insist('GET', path));
  }

  async #followPages(): Promise<void> {
    for (let pages = between(1, MAX_PAGES); pages > 0 && !this.#isPaused; pages -= 1) {
      const query = `since=${this.#cursor}&limit=${between(1, 1_000)}&wait=${between(0, 1)}`;
      const answer = await this.#service.attempt('GET', `/changes?include=record&${query}`);
      if (!answer) return;
      checkStatus(answer);
      for (const change of answer.json.items) this.#apply(change, 'page');
      this.#cursor = answer.json.next;
    }
  }

  async #followStream(): Promise<void> {
    const events: EventSourceMessage[] = [];
    const parser = createParser({
      onEvent: (event) => events.push(event),
      onError: assert.ifError,
    });
    let left = between(1, MAX_EVENTS);
    for await (const part of await openStream(this.#url, this.#cursor ?? '')) {
      parser.feed(part);
      for (const { id, event, data } of events.splice(0)) {
        const change = JSON.parse(data);
        assert.deepEqual([change.id, change.type], [id, event]);
        this.#apply(change, 'stream');
        this.#cursor = change.id;
        left -= 1;
      }
      if (left <= 0 || this.#isPaused || this.#isStopped) return;
    }
  }

  #apply(change: Change, way: 'stream' | 'page'): void {
    const { id, type, at, record: _, ...ids } = change;
    const [generation, number = ''] = id.split('-');
    const [current, last] = (this.#applied.at(-1)?.split(' ')[0] ?? this.#start).split('-');
    assert.equal(generation, current);
    assert.ok(Number(number) > Number(last), `${id} comes after ${last}`);
    applyChange(this.#records, change);
    assert.ok(Date.parse(at) > 0, `${id} at ${at}`);
    this.#applied.push(`${id} ${type} ${JSON.stringify(ids)}`);
    this.counts[way] += 1;
    this.types.add(type);
  }
}

function checkStatus({ status, json, text }: Pick<Answer, 'status' | 'json' | 'text'>): void {
  if (status === 503) throw new Refused();
  if (status === 410 && json.type.endsWith('/cursor-expired')) throw new Expired();
  assert.equal(status, 200, text);
}

/** Opens a stream after the cursor, which it sends in one of two ways. */
async function openStream(url: string, cursor: string): Promise<IncomingMessage> {
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

/** Reads the log itself, as lines such as `GENERATION-7 note.tagged {"note_id":1,"tag_id":2}`. */
async function loggedAfter(db: string, cursor: string): Promise<string[]> {
  const [generation, number] = cursor.split('-');
  const database = await openPath(db);
  const logged = await rows(
    database,
    `SELECT number, type, id, other_id FROM changes WHERE number > ${number} ORDER BY number`,
  );
  await database.close();
  return logged.map(({ number, type, id, other_id: other }) => {
    const [kind] = String(type).split('.');
    const owner = kind === 'comment' ? { note_id: other } : {};
    const tag = kind === 'note' && other !== null ? { tag_id: other } : {};
    const ids = { ...owner, [`${kind}_id`]: id, ...tag };
    return `${generation}-${number} ${type} ${JSON.stringify(ids)}`;
  });
}
