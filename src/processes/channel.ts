// Remote procedure calls between the processes of one service. Each end offers functions by name,
// and calls those of the other end over Node's IPC channel.

/** An end of Node's IPC channel: `process` in a child, its cluster `Worker` in the parent. */
export interface Port {
  send?(message: object, handle: undefined, options: undefined, sent: () => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** The functions of one end. Arguments and results must be representable in JSON. */
export type Functions = Readonly<Record<string, (argument: never) => unknown>>;

/** A call, or the response to the call with the number `answers`. */
interface Message {
  readonly name?: string;
  readonly argument?: unknown;
  readonly number?: number | undefined;
  readonly answers?: number;
  readonly result?: unknown;
  readonly error?: Readonly<Record<string, unknown>>;
}

const ENDED = 'the other process has ended';

type Caller = { resolve(result: never): void; reject(error: Error): void };

/** One end of a channel. `Theirs` are the functions that the other end offers. */
export class Channel<Theirs extends Functions> {
  readonly #port: Port;
  readonly #ours: Functions;
  readonly #callers = new Map<number, Caller>();
  #calls = 0;
  #isClosed = false;

  constructor(port: Port, ours: Functions) {
    this.#port = port;
    this.#ours = ours;
    // Node sends other messages on this channel, for example in watch mode.
    port.on('message', (received) => {
      const message = received as Message | null;
      if (typeof message?.answers === 'number') this.#settle(message.answers, message);
      else if (typeof message?.name === 'string') this.#serve(message.name, message);
    });
  }

  /** Calls a function of the other end. Rejects with the error that it threw, or after `close`. */
  call<Name extends keyof Theirs & string>(
    name: Name,
    ...[argument]: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    if (this.#isClosed) return Promise.reject(new Error(ENDED));
    this.#calls += 1;
    const number = this.#calls;
    return new Promise((resolve, reject) => {
      this.#callers.set(number, { resolve, reject });
      this.#send({ name, argument, number });
    });
  }

  /** Calls a function of the other end without a response. */
  notify<Name extends keyof Theirs & string>(
    name: Name,
    ...[argument]: Parameters<Theirs[Name]>
  ): void {
    this.#send({ name, argument });
  }

  /** Rejects pending and later calls. Call it when the other process has ended. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#callers.values()) reject(new Error(ENDED));
    this.#callers.clear();
  }

  #send(message: Message): void {
    // If sending fails, the other process is ending: `close` follows, or this process ends too.
    this.#port.send?.(message, undefined, undefined, () => {});
  }

  #settle(number: number, { result, error }: Message): void {
    const caller = this.#callers.get(number);
    this.#callers.delete(number);
    if (error) caller?.reject(Object.assign(new Error(String(error.message)), error));
    else caller?.resolve(result as never);
  }

  async #serve(name: string, { argument, number }: Message): Promise<void> {
    try {
      const own = this.#ours[name];
      // After an update, a process that replaces another one runs a newer program.
      if (!own) throw new Error(`the other process has no function ${name}`);
      const result = await own(argument as never);
      if (number !== undefined) this.#send({ answers: number, result });
    } catch (thrown) {
      const { message, code } = thrown as Record<string, unknown>;
      const error = { message, code };
      if (number !== undefined) this.#send({ answers: number, error });
    }
  }
}
