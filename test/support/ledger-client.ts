// A client of the service that enters each state of its records into a ledger.
import assert from 'node:assert/strict';
import type { Agent } from 'node:http';
import { type Answer, request } from './http.ts';
import { between, brokenConnection, oneIn } from './ledger.ts';
import { LINKED, titleOf } from './ledger-reader.ts';
import type { Entered, State, StateLedger } from './state-ledger.ts';

/** How many notes a client keeps. */
const CLIENT_NOTES = 4;

let lastText = 0;

/** Returns a text that no other record has. Some texts take more than a page of the file. */
export function nextText(): string {
  lastText += 1;
  return `text ${lastText}`.padEnd(lastText % 20 === 0 ? 6_000 : 0, '.');
}

interface OwnNote {
  readonly path: string;
  comment: string | undefined;
  isLinked: boolean;
}

/** A client that writes its own notes, one request at a time. */
export class LedgerClient {
  readonly #url: string;
  readonly #ledger: StateLedger;
  readonly #agent: Agent;
  #notes: OwnNote[] = [];
  /** How many writes were acknowledged, and how many were answered 503. */
  readonly counts = { commits: 0, refusals: 0 };

  constructor(url: string, ledger: StateLedger, agent: Agent) {
    this.#url = url;
    this.#ledger = ledger;
    this.#agent = agent;
  }

  /** Writes several times, one request after the other. */
  async write(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) await this.#writeOnce();
  }

  /** Creates, changes or deletes a note, its comment or its tag. */
  async #writeOnce(): Promise<void> {
    const note = this.#notes[between(0, CLIENT_NOTES - 1)];
    if (!note) return this.#create('/notes', (path) => this.#add(path));
    const link = `${note.path}/tags/1`;
    const { comment, isLinked } = note;
    if (oneIn(12)) return this.#delete(note);
    if (oneIn(6) && isLinked) return this.#send(note, 'DELETE', link, undefined);
    // It may be there already: then nothing changes.
    if (oneIn(6)) return this.#send(note, 'PUT', link, LINKED);
    if (oneIn(2)) return this.#send(note, oneIn(2) ? 'PUT' : 'PATCH', note.path, nextText());
    if (!comment) return this.#create(`${note.path}/comments`, (path) => this.#comment(note, path));
    if (oneIn(4)) return this.#send(note, 'DELETE', comment, undefined);
    return this.#send(note, oneIn(2) ? 'PUT' : 'PATCH', comment, nextText());
  }

  #add(path: string): void {
    this.#notes.push({ path, comment: undefined, isLinked: false });
  }

  #comment(note: OwnNote, path: string): void {
    note.comment = path;
  }

  async #create(list: string, keep: (path: string) => void): Promise<void> {
    const text = nextText();
    const enter = this.#ledger.create(text);
    const answer = await this.#request('POST', list, text);
    if (answer?.status !== 201) return;
    const path = String(answer.headers.location);
    enter(path);
    this.#ledger.touch(path);
    keep(path);
  }

  /** Deletes a note and what belongs to it. */
  async #delete(note: OwnNote): Promise<void> {
    const gone = new Map<string, State>([[note.path, undefined]]);
    if (note.comment) {
      gone.set(note.comment, undefined);
      this.#ledger.touch(note.comment);
    }
    if (note.isLinked) gone.set(`${note.path}/tags/1`, undefined);
    const entered = this.#ledger.enter(gone);
    if (await this.#settle(note, entered, this.#request('DELETE', note.path))) this.#forget(note);
  }

  async #send(note: OwnNote, method: string, path: string, state: State): Promise<void> {
    const entered = this.#ledger.enter(new Map([[path, state]]));
    const text = state === LINKED ? undefined : state;
    if (!(await this.#settle(note, entered, this.#request(method, path, text)))) return;
    if (path.includes('/tags/')) note.isLinked = state === LINKED;
    else this.#ledger.touch(path);
    if (path === note.comment && state === undefined) note.comment = undefined;
  }

  /** Enters how a write has ended; resolves with whether it was carried out. */
  async #settle(note: OwnNote, entered: Entered, answered: Promise<Answer | undefined>) {
    const answer = await answered;
    // The state of the note is in doubt from now on.
    if (!answer) this.#forget(note);
    else if (answer.status === 503) entered.refuse();
    else entered.acknowledge();
    return answer !== undefined && answer.status !== 503;
  }

  #forget(note: OwnNote): void {
    this.#notes = this.#notes.filter((each) => each !== note);
  }

  /** Resolves with undefined if the connection broke. */
  async #request(method: string, path: string, text?: string): Promise<Answer | undefined> {
    // A comment has no title.
    const json = text === undefined ? undefined : { title: titleOf(text), body: text };
    try {
      const answer = await request(this.#url, method, path, { json, agent: this.#agent });
      assert.ok([200, 201, 204, 503].includes(answer.status), `${method} ${path}: ${answer.text}`);
      if (answer.status === 503) this.counts.refusals += 1;
      else this.counts.commits += 1;
      return answer;
    } catch (error) {
      assert.ok(brokenConnection(error), error as Error);
      return undefined;
    }
  }
}
