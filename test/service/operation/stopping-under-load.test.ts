// The stop in the middle of load, again and again on one file: whoever was let in is answered, what was confirmed is there
// at the next start, and the end is in order. STOPS sets how often (10 unless it is set).
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HTTP_LIMITS } from '../../../src/http/server.ts';
import { startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { type Conversation, converse, requestText } from '../../support/raw.ts';
import { beside } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const STOPS = Number(process.env.NOTES_TEST_STOPS ?? 10);
const CLIENTS = 64;
/** How many answers there may be before the signal comes: any number up to this. */
const ANSWERS = 2_000;

/** What the clients of one run of the service saw. */
interface Tally {
  answers: number;
  /** The titles of the notes that were confirmed. */
  readonly confirmed: string[];
  /** What went without an answer on a connection that had brought one before, and had not been told that it closes. */
  readonly dropped: unknown[];
  /** Fresh connections without an answer: the system had taken them and the service had not, when it stopped listening. */
  neverAccepted: number;
  /** From the signal on. */
  stopping: boolean;
}

/** Sends one request after the other, on each connection as long as it lasts, until nobody listens any more. */
async function keepAsking(port: number, name: string, lasting: boolean, tally: Tally): Promise<void> {
  for (let connections = 0; ; connections += 1) {
    const conversation = await converse({ port }).catch((error: NodeJS.ErrnoException) => {
      assert.ok(tally.stopping, `no connection before the stop: ${error.code}`);
    });
    if (!conversation) return;
    await useUp(conversation, `${name} ${connections}`, lasting, tally);
    conversation.socket.destroy();
  }
}

/** Sends notes and reads until the service says that the connection closes, or closes it. */
async function useUp({ socket, answer }: Conversation, name: string, lasting: boolean, tally: Tally): Promise<void> {
  const headers = lasting ? [] : ['connection: close'];
  for (let count = 0; ; count += 1) {
    const title = `${name} ${count}`;
    const read = requestText('GET /notes?limit=3', headers);
    const write = requestText('POST /notes', headers, JSON.stringify({ title, body: 'b' }));
    socket.write(count % 3 === 2 ? read : write);
    const answered = await answer().catch((error) => {
      if (tally.stopping && count === 0) tally.neverAccepted += 1;
      else tally.dropped.push(error);
    });
    if (!answered) return;
    assert.ok(answered.status === 201 || answered.status === 200, answered.body);
    tally.answers += 1;
    if (answered.status === 201) tally.confirmed.push(title);
    if (answered.headers.connection === 'close') return;
  }
}

for (const processes of ['1', '2']) {
  test(`SIGTERM in the middle of load ${STOPS} times, processes: ${processes}: nobody is dropped, nothing is lost`, (t) =>
    stopAgainAndAgain(t, processes));
}

async function stopAgainAndAgain(t: TestContext, processes: string): Promise<void> {
  const folder = temporaryFolder(t);
  const confirmed: string[] = [];
  const longest = { stop: 0 };
  let [answers, neverAccepted] = [0, 0];
  for (let run = 0; run < STOPS; run += 1) {
    const command = startCommand(t, ['--port', '0', '--log-level', 'error', '--processes', processes], { folder });
    const port = Number(new URL(await command.ready()).port);
    const tally: Tally = { answers: 0, confirmed: [], dropped: [], neverAccepted: 0, stopping: false };
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      keepAsking(port, `${run} ${client}`, client % 4 > 0, tally),
    );
    const enough = Math.random() * ANSWERS;
    await until(() => tally.answers >= enough);
    tally.stopping = true;
    const signalled = performance.now();
    const { status, signal, stderr } = await stop(command);
    longest.stop = Math.max(longest.stop, performance.now() - signalled);
    await Promise.all(clients);
    assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' });
    assert.deepEqual(tally.dropped, []);
    assert.deepEqual(readdirSync(folder), ['notes.db']);
    confirmed.push(...tally.confirmed);
    answers += tally.answers;
    neverAccepted += tally.neverAccepted;
  }
  assert.ok(longest.stop < HTTP_LIMITS.closeMs);
  const rows = await beside(join(folder, 'notes.db'), ({ run }) => run({ sql: 'SELECT title FROM notes' }));
  const stored = new Set(rows.map(({ title }) => title));
  assert.deepEqual(
    confirmed.filter((title) => !stored.has(title)),
    [],
  );
  t.diagnostic(
    `${STOPS} stops, ${answers} answers, ${confirmed.length} confirmed writes, all there; ${neverAccepted} connections ` +
      `were never accepted; the longest stop took ${longest.stop.toFixed(0)} ms`,
  );
}
