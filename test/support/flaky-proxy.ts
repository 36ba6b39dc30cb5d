// A proxy in front of a service, in which a test holds, refuses and loses answers.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { Ends } from './engine.ts';
import { brokenConnection, send } from './http.ts';

/** What a client gets. */
export interface Passed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer | string;
}

/** Resolves with what the client gets; undefined closes its connection. */
type Pass = (
  /** Lets the service carry the request out. */
  forward: () => Promise<Passed | undefined>,
  method: string,
  target: string,
  body: string,
) => Promise<Passed | undefined>;

const FORWARDED = ['content-type', 'if-match', 'if-none-match', 'idempotency-key', 'accept'];

/** Starts a proxy of the service at `target()`; resolves with its URL. */
export async function startFlakyProxy(
  test: Ends,
  target: () => string,
  pass: Pass,
): Promise<string> {
  const server = createServer(async (request, response) => {
    // It passes answers on that have an end.
    if (request.headers.accept === 'text/event-stream') return response.destroy();
    const body = Buffer.concat(await request.toArray());
    const { method = '', url = '' } = request;
    const entries = FORWARDED.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const parts = { headers: Object.fromEntries(entries), ...(body.length > 0 && { body }) };
    const forward = () =>
      send(target(), method, url, parts).catch((error) => {
        if (brokenConnection(error)) return undefined;
        throw error;
      });
    const passed = await pass(forward, method, url, body.toString());
    if (!passed) return response.destroy();
    const { connection: _, 'keep-alive': _time, ...headers } = passed.headers;
    return response.writeHead(passed.status, headers).end(passed.bytes);
  });
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${Object(server.address()).port}`;
}
