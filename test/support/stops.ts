// Stops the command under load, repeatedly on one file, and checks that every request on an
// accepted connection is answered and that every acknowledged note is kept.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startCommand, stop } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { type Conversation, converse, requestText } from './raw.ts';
import { beside } from './stored-data.ts';
import { until } from './until.ts';

/** How large the load is. */
export interface StopsUnderLoad {
  readonly stops: number;
  readonly clients: number;
  readonly answers: number;
  readonly processes: number;
}

interface Tally {
  answers: number;
  readonly confirmed: string[];
  /** Failures of requests on connections that had carried an answer without `connection: close`. */
  readonly dropped: unknown[];
  stopping: boolean;
}

/** Sends requests one by one, over as many connections as it takes, until nobody listens. */
async function keepSending(port: number, name: string, lasting: boolean, tally: Tally) {
  for (let connections = 0; ; connections += 1) {
    const conversation = await converse({ port }).catch((error: NodeJS.ErrnoException) => {
      assert.ok(tally.stopping, `no connection before the stop: ${error.code}`);
    });
    if (!conversation) return;
    await useUp(conversation, `${name} ${connections}`, lasting, tally);
    conversation.socket.destroy();
  }
}

async function useUp(
  { socket, answer }: Conversation,
  name: string,
  lasting: boolean,
  tally: Tally,
): Promise<void> {
  const headers = lasting ? [] : ['connection: close'];
  for (let count = 0; ; count += 1) {
    const title = `${name} ${count}`;
    const read = requestText('GET /notes?limit=3', headers);
    const write = requestText('POST /notes', headers, JSON.stringify({ title, body: 'b' }));
    socket.write(count % 3 === 2 ? read : write);
    const answered = await answer().catch((error) => {
      // The system may connect a client that the service never accepts when it stops listening.
      if (!(tally.stopping && count === 0)) tally.dropped.push(error);
    });
    if (!answered) return;
    assert.ok(answered.status === 201 || answered.status === 200, answered.body);
    tally.answers += 1;
    if (answered.status === 201) tally.confirmed.push(title);
    if (answered.headers.connection === 'close') return;
  }
}

/** Stops the command under load; rejects if an answer or a confirmed note is missing. */
export async function stopUnderLoad(t: TestContext, load: StopsUnderLoad): Promise<void> {
  const folder = temporaryFolder(t);
  const args = ['--port', '0', '--log-level', 'error', '--processes', String(load.processes)];
  const confirmed: string[] = [];
  for (let run = 0; run < load.stops; run += 1) {
    const command = startCommand(t, args, { folder });
    const port = Number(new URL(await command.ready()).port);
    const tally: Tally = { answers: 0, confirmed: [], dropped: [], stopping: false };
    const clients = Array.from({ length: load.clients }, (_, client) =>
      keepSending(port, `${run} ${client}`, client % 4 > 0, tally),
    );
    const enough = Math.random() * load.answers;
    // In steps, as a busy machine may need longer for all than one wait lasts.
    for (let goal = 0; goal < enough; goal += load.clients)
      await until(() => tally.answers >= goal);
    tally.stopping = true;
    const { status, signal, stderr } = await stop(command);
    await Promise.all(clients);
    assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' });
    assert.deepEqual(tally.dropped, []);
    assert.deepEqual(readdirSync(folder), ['notes.db']);
    confirmed.push(...tally.confirmed);
  }
  const rows = await beside(join(folder, 'notes.db'), (connection) =>
    connection.run({ sql: 'SELECT title FROM notes' }),
  );
  const stored = new Set(rows.map(({ title }) => title));
  const missing = confirmed.filter((title) => !stored.has(title));
  assert.deepEqual(missing, []);
  t.diagnostic(`${load.stops} stops, ${confirmed.length} confirmed notes, all there`);
}
