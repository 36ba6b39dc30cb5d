// Clients that fetch large answers over many connections: Node accepts one connection in each
// iteration of the event loop, so that new ones would wait for hundreds of answers.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { startCommand } from '../support/command.ts';
import { request } from '../support/http.ts';
import { exchangeLast, requestText } from '../support/raw.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 200;
const ROUNDS = 15;
/** How many requests of a connection are on their way. */
const PIPELINED = 2;
const CLOSE = ['connection: close'];
const PATCH = JSON.stringify({ title: 'b' });
const TITLE = ['content-type: application/merge-patch+json'];

/** What each of the connections sends, and the arguments of the service. */
const FLOODS: Readonly<Record<string, readonly [text: string, ...args: string[]]>> = {
  'a note in memory': [requestText('GET /notes/1')],
  'a note that is read from the file': [requestText('GET /notes/1'), '--cache-size', '0'],
  'a page': [requestText('GET /notes?limit=2')],
  'a text': [requestText('GET /notes/1', ['accept: text/markdown'])],
  'the length of a note': [requestText('HEAD /notes/1')],
  'the answer to a write': [requestText('PATCH /notes/1', TITLE, PATCH)],
  'a note over a new connection': [requestText('GET /notes/1', CLOSE)],
};

/** Fetches again and again over a connection until it is destroyed; counts whole answers. */
class Client {
  readonly #port: number;
  readonly #text: string;
  #socket: Socket | undefined;
  #isOver = false;
  answers = 0;

  constructor(port: number, text: string) {
    this.#port = port;
    this.#text = text;
    this.#open();
  }

  end(): void {
    this.#isOver = true;
    this.#socket?.destroy();
  }

  #open(): void {
    if (this.#isOver) return;
    const socket = connect(this.#port, '127.0.0.1', () =>
      socket.write(this.#text.repeat(PIPELINED)),
    );
    this.#socket = socket;
    const isHead = this.#text.startsWith('HEAD');
    let head = '';
    let rest = 0;
    socket.on('data', (data) => {
      for (let start = 0; start < data.length; ) {
        if (rest === 0) {
          const end = data.indexOf('\r\n\r\n', start);
          head += data.toString('latin1', start, end === -1 ? data.length : end);
          if (end === -1) return;
          rest = isHead ? 0 : Number(/^content-length: (\d+)/im.exec(head)?.[1]);
          head = '';
          start = end + 4;
        }
        const taken = Math.min(rest, data.length - start);
        rest -= taken;
        start += taken;
        if (rest > 0) continue;
        this.answers += 1;
        socket.write(this.#text);
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#open());
  }
}

for (const [name, [text, ...args]] of Object.entries(FLOODS))
  test(`new connections: one among ${CONNECTIONS} that fetch ${name}`, async (t) => {
    const command = startCommand(t, ['--port', '0', '--log-level', 'error', ...args]);
    const url = await command.ready();
    const port = Number(new URL(url).port);
    const json = { title: 'a', body: '\u{1f44b}'.repeat(100_000) };
    for (let count = 0; count < 2; count += 1) await request(url, 'POST', '/notes', { json });
    const clients = Array.from({ length: CONNECTIONS }, () => new Client(port, text));
    t.after(() => clients.map((client) => client.end()));
    const countAnswers = () => clients.reduce((sum, { answers }) => sum + answers, 0);
    await until(() => countAnswers() > 2 * CONNECTIONS);
    const overtaking: number[] = [];
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = countAnswers();
      const startMs = performance.now();
      assert.equal((await exchangeLast({ port }, 'GET /livez')).status, 200);
      times.push(Math.round(performance.now() - startMs));
      overtaking.push(countAnswers() - before);
    }
    t.diagnostic(`answers to others in between: ${overtaking}; ms: ${times}`);
    const median = overtaking.sort((one, other) => one - other)[ROUNDS >> 1] ?? CONNECTIONS;
    assert.ok(median < CONNECTIONS / 2, `${median} answers in between`);
  });
