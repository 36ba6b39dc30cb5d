// The six demonstrations of thread primitives, each at a path.
import { endpoint } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import { DISPATCH_LIMITS } from '../http/limits.ts';
import { Problem, unavailable } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import { DEMONSTRATIONS, TASKS } from './tasks.ts';
import { NoThreads, ThreadPool } from './thread-pool.ts';

/** The demonstrations; all requests together use at most `maxThreads` threads. */
export function demonstrations(maxThreads: number): Feature {
  const threads = new ThreadPool(TASKS, maxThreads);
  const routes = Object.entries(DEMONSTRATIONS).map(([path, { prepare }]) =>
    endpoint<unknown, object>('POST', path, async ({ body, call }) => {
      for (const [name, value] of Object.entries(body)) {
        if (Array.isArray(value) && value.length === 0)
          throw new Problem('bad-request', `${name} must not be empty`);
      }
      // A large body takes many times its size in the threads and in the answer.
      if (call.bytes.length >= DISPATCH_LIMITS.largeBodyBytes) await call.reserveLarge();
      const { inputs, answer } = prepare(body);
      const text = answer(await threads.run(path, inputs, call.signal(), call.inputSignal()));
      // A run can still be refused, because it has stored nothing.
      if (text.length >= DISPATCH_LIMITS.largeReplyCharacters) call.ensureSendable();
      return jsonReply(200, text);
    }),
  );
  return {
    routes: () => routes,
    toProblem: (error) => (error instanceof NoThreads ? unavailable(error.message) : undefined),
    readings: {
      notes_threads_live: () => threads.counts().alive,
      notes_threads_standby: () => threads.counts().idle,
      notes_demonstrations_waiting: () => threads.counts().waiting,
    },
    close: () => threads.close(),
  };
}
