// Writers that make changes of every kind, all to the same records, through the kills of a service.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/http.ts';
import { between, oneIn } from '../support/random.ts';
import type { RestartableService } from '../support/restartable-service.ts';
import { until } from '../support/until.ts';

/** Beyond this many notes or tags, writers delete more than they create. */
const MAX_NOTES = 200;
const MAX_TAGS = 50;

/** The most lines of a request for several notes or tags, and for several comments. */
const MAX_LINES = 5;
const MAX_COMMENTS = 40;

let lastText = 0;

/** Returns a text that no other record has. Some texts take more than a page of the file. */
function nextText(): string {
  lastText += 1;
  return `text ${lastText}`.padEnd(lastText % 20 === 0 ? 6_000 : 0, '.');
}

const titleOf = (body: string) => body.slice(0, 20);

/** Writers that share the records. */
export class ChangeWriters {
  readonly #service: Pick<RestartableService, 'insist'>;
  /** The paths of the records that may be there. */
  readonly #notes: string[] = [];
  readonly #tags: string[] = [];
  readonly #comments: string[] = [];
  #done = 0;
  #haveEnded = false;

  constructor(service: Pick<RestartableService, 'insist'>) {
    this.#service = service;
  }

  /** How many changes were made, at least; infinite when the writers have ended. */
  get done(): number {
    return this.#haveEnded ? Number.POSITIVE_INFINITY : this.#done;
  }

  async write(writers: number, changes: number): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (this.done < changes) await this.#writeOnce();
      }),
    );
    this.stop();
  }

  /** Resolves when there are `changes` more than now, or the writers have ended. */
  more(changes: number): Promise<void> {
    const enough = this.done + changes;
    return until(() => this.done >= enough);
  }

  stop(): void {
    this.#haveEnded = true;
  }

  #writeOnce(): Promise<unknown> {
    const [note, tag, comment] = [pick(this.#notes), pick(this.#tags), pick(this.#comments)];
    if (!tag || oneIn(20)) return this.#create('/tags', this.#tags, MAX_LINES, newTag);
    if (!note || oneIn(12))
      return this.#create('/notes', this.#notes, MAX_LINES, () => newNote(tag));
    if (!comment || oneIn(6))
      return this.#create(`${note}/comments`, this.#comments, MAX_COMMENTS, newComment);
    if (oneIn(12) || this.#notes.length > MAX_NOTES) return this.#removeNote(note);
    if (oneIn(40) || this.#tags.length > MAX_TAGS) return this.#remove(tag, this.#tags);
    if (oneIn(12)) return this.#remove(comment, this.#comments);
    // A link may be there or not; then nothing changes.
    if (oneIn(3)) return this.#send(oneIn(2) ? 'PUT' : 'DELETE', `${note}${tag}`, 0);
    if (oneIn(3)) return this.#send(oneIn(2) ? 'PUT' : 'PATCH', comment, 1, newComment());
    if (oneIn(6)) return this.#send(oneIn(2) ? 'PUT' : 'PATCH', tag, 1, newTag());
    if (oneIn(6)) return this.#send('PATCH', note, 0, { tag_ids: [] });
    return this.#send(oneIn(2) ? 'PUT' : 'PATCH', note, 1, newNote(tag));
  }

  async #create(list: string, paths: string[], maxLines: number, input: () => object) {
    const lines = oneIn(2) ? 1 : between(2, maxLines);
    const body = Array.from({ length: lines }, () => JSON.stringify(input())).join('\n');
    const type = lines === 1 ? 'application/json' : 'application/x-ndjson';
    const headers = { 'content-type': type, 'idempotency-key': randomUUID() };
    const answer = await this.#service.insist('POST', list, { body, headers });
    if (isRefused(answer)) return;
    assert.equal(answer.status, 201, answer.text);
    for (const { id } of [answer.json].flat()) paths.push(`${list}/${id}`);
    this.#done += lines;
  }

  async #removeNote(note: string): Promise<void> {
    const own = this.#comments.filter((path) => path.startsWith(`${note}/`));
    if (!(await this.#remove(note, this.#notes))) return;
    this.#done += own.length;
    if (oneIn(2)) return this.#restoreNote(note);
    for (const path of own) forget(path, this.#comments);
  }

  async #restoreNote(note: string): Promise<void> {
    const path = `${note.replace('/notes/', '/trash/')}/restore`;
    const { status, text } = await this.#service.insist('POST', path);
    // It is 404 if the answer to the first request got lost.
    assert.ok(status === 200 || status === 404, text);
    this.#notes.push(note);
    this.#done += 1;
  }

  #remove(path: string, paths: string[]): Promise<boolean> {
    // Before the answer, so that no other writer takes it as well.
    forget(path, paths);
    return this.#send('DELETE', path, 1);
  }

  /** Sends a request that makes at least `changes`; resolves with whether its record was there. */
  async #send(method: string, path: string, changes: number, json?: object): Promise<boolean> {
    const answer = await this.#service.insist(method, path, { json });
    if (isRefused(answer)) return false;
    assert.ok([200, 204].includes(answer.status), `${method} ${path}: ${answer.text}`);
    this.#done += changes;
    return true;
  }
}

function isRefused({ status, text }: Answer): boolean {
  return status === 404 || (status === 422 && text.includes('tag_ids'));
}

function newNote(tag: string): object {
  const body = nextText();
  const tagIds = oneIn(3) && { tag_ids: [Number(tag.slice('/tags/'.length))] };
  return { title: titleOf(body), body, ...tagIds };
}

function newTag(): object {
  return { name: titleOf(nextText()) };
}

function newComment(): object {
  return { body: nextText() };
}

function pick(paths: readonly string[]): string | undefined {
  return paths[between(0, paths.length - 1)];
}

function forget(path: string, paths: string[]): void {
  const place = paths.indexOf(path);
  if (place >= 0) paths.splice(place, 1);
}
