// The HTTP layer with routes of the test, for what the routes of the service cannot provoke:
// delayed answers and short time-outs.
import type { TestContext } from 'node:test';
import { Dispatcher } from '../../src/http/dispatch.ts';
import type { Ending } from '../../src/http/exchange.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import type { Problem } from '../../src/http/problem.ts';
import type { Call, Mend, Route } from '../../src/http/route.ts';
import { HttpServer } from '../../src/http/server.ts';

const BODY_LIMIT_BYTES = 1_000;

/** How a request ended, without the objects that its connection should not keep. */
type Outcome = Omit<Ending, 'exchange'> & Pick<Ending['exchange'], 'error' | 'logged'>;

/** A listening server with the routes of a test. */
export interface BareServer {
  readonly port: number;
  readonly outcomes: readonly Outcome[];
  readonly refusals: readonly Problem[];
  close(): Promise<void>;
}

/** The call of an empty request, whose client stays connected. */
export const EMPTY_CALL: Call = {
  pathValues: [],
  query: '',
  method: 'GET',
  body: undefined,
  format: 'json',
  bytes: Buffer.alloc(0),
  headers: {},
  key: undefined,
  charge: () => Promise.resolve(),
  clientId: () => '',
  refusalFor: () => undefined,
  ensureSendable: () => {},
  reserveLarge: () => Promise.resolve(),
  signal: () => new AbortController().signal,
  inputSignal: () => new AbortController().signal,
};

/** Starts a server until the test ends; `limits` take the place of the real ones. */
export async function startBareServer(
  test: Pick<TestContext, 'after'>,
  routes: readonly Route[],
  limits: Partial<typeof HTTP_LIMITS> = {},
  mend: Mend = () => false,
): Promise<BareServer> {
  const outcomes: Outcome[] = [];
  const refusals: Problem[] = [];
  const problemBase = 'http://a/problems';
  const dispatcher = new Dispatcher({
    routes,
    guard: () => ({ headers: [] }),
    bodyLimitBytes: BODY_LIMIT_BYTES,
    problemBase,
    accepted: () => server.accepted(),
    onEnd: ({ exchange: { error, logged }, ...ending }) =>
      outcomes.push({ ...ending, error, logged }),
    networkOf: () => '',
    toProblem: () => undefined,
  });
  const server = new HttpServer({
    onRequest: (arrival) => dispatcher.dispatch(arrival),
    onRefused: (_, problem) => refusals.push(problem),
    networkOf: ({ socket }) => socket.remoteAddress ?? '',
    mend,
    problemBase: () => problemBase,
    limits: { ...HTTP_LIMITS, ...limits },
  });
  const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= server.close();
    return closed;
  };
  test.after(close);
  return { port, outcomes, refusals, close };
}

/** A route that answers 200 with what `handle` returns. */
export function textRoute(
  method: Route['method'],
  template: string,
  handle: (call: Call) => string | Promise<string>,
): Route {
  const hasBody = method === 'POST' || method === 'PUT';
  return {
    method,
    template,
    accepts: hasBody ? { types: ['application/json'], maxLines: 0 } : undefined,
    handle: async (call) => ({ status: 200, body: await handle(call) }),
  };
}

/** Something to wait for: `open` resolves `passed`. */
export interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

/** Returns a closed gate. */
export function createGate(): Gate {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
