// Calls between the processes of one service: each end offers functions by name, and calls those of the other end, over
// the channel that Node opens to a process it has started.

/** What Node sends with: `process` in the process that was started, its `Worker` of node:cluster in the one that did. */
export interface Port {
  send?(message: object, handle: undefined, options: undefined, sent: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** The functions of one end: of one argument at most, which JSON can carry as it can the result. */
export type Functions = Readonly<Record<string, (argument: never) => unknown>>;

/** The way to the functions of the other end. */
export interface Channel<Theirs extends Functions> {
  /**
   * Calls one of them. Rejects with the error that it ended with (message, code, address and port), and with an error of
   * its own when the channel closes before the answer.
   */
  call<Name extends keyof Theirs & string>(
    name: Name,
    ...argument: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>>;
  /** Calls one of them and waits for nothing. */
  tell<Name extends keyof Theirs & string>(name: Name, ...argument: Parameters<Theirs[Name]>): void;
  /** To be called when the other end is no more: rejects what it owes an answer to. */
  close(): void;
}

/** A call; one without a number wants no answer. */
interface Request {
  readonly name: string;
  readonly argument: unknown;
  readonly number?: number;
}

/** The answer to the call of that number. */
interface Response {
  readonly answers: number;
  readonly result?: unknown;
  readonly error?: Told;
}

/** What is told of an error: what a person is to read, and what Node adds of a system call. */
type Told = Pick<NodeJS.ErrnoException, 'message' | 'code'> & { readonly address?: string; readonly port?: number };

interface Caller {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Opens this end of the channel of `port`, with the functions that it offers. */
export function openChannel<Theirs extends Functions>(port: Port, ours: Functions): Channel<Theirs> {
  const waiting = new Map<number, Caller>();
  let calls = 0;
  let closed = false;

  function send(message: Request | Response): void {
    // Whoever cannot be reached is about to be given up: `close` tells that.
    port.send?.(message, undefined, undefined, () => {});
  }

  port.on('message', (message) => {
    if (isResponse(message)) settle(message);
    else if (isRequest(message)) serve(message);
  });

  function settle({ answers, result, error }: Response): void {
    const caller = waiting.get(answers);
    waiting.delete(answers);
    if (error) caller?.reject(Object.assign(new Error(error.message), error));
    else caller?.resolve(result as never);
  }

  async function serve({ name, argument, number }: Request): Promise<void> {
    try {
      const result = await ours[name]?.(argument as never);
      if (number !== undefined) send({ answers: number, result });
    } catch (thrown) {
      const { message, code, address, port } = thrown as Told;
      const error = { message, ...(code && { code }), ...(address && { address }), ...(port && { port }) };
      if (number !== undefined) send({ answers: number, error });
    }
  }

  return {
    call(name, ...[argument]) {
      if (closed) return Promise.reject(ended());
      calls += 1;
      const number = calls;
      return new Promise((resolve, reject) => {
        waiting.set(number, { resolve, reject });
        send({ name, argument, number });
      });
    },

    tell: (name, ...[argument]) => send({ name, argument }),

    close() {
      closed = true;
      for (const { reject } of waiting.values()) reject(ended());
      waiting.clear();
    },
  };
}

function ended(): Error {
  return new Error('the other process has ended');
}

/** Node's own messages pass on the same way. */
function isRequest(message: unknown): message is Request {
  return typeof (message as Partial<Request> | null)?.name === 'string';
}

function isResponse(message: unknown): message is Response {
  return typeof (message as Partial<Response> | null)?.answers === 'number';
}
