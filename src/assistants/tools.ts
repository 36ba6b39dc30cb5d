// Tools that stand for operations of the contract: a call makes the request that the operation
// takes, and goes to the same route, so that it can do no more than HTTP.
import type { OperationTool } from '../contract/generated.js';
import { describeViolations } from '../contract/violations.ts';
import type { Call, Route } from '../http/route.ts';
import { requestOf } from './arguments.ts';
import type { Members, Tool } from './protocol.ts';
import { textOf } from './results.ts';

/** Returns a tool that makes requests to some of `routes`. */
export function toolOver(routes: () => readonly Route[], tool: OperationTool): Tool {
  const { listing, remedies, requests } = tool;
  const { ifMissing } = requests.at(-1) ?? {};
  return {
    listing,
    call: (args, call) =>
      callRoute(routes(), tool, args, call).catch((error) => {
        if (!ifMissing || Object(error).slug !== 'not-found') throw error;
        return callRoute(routes(), tool, { ...args, ...ifMissing }, call);
      }),
    explain({ slug, message, extras: { errors } }) {
      const what = errors ? describeViolations(errors, errors.length) : message;
      // The detail of a 412 speaks of headers.
      return `${slug === 'precondition-failed' ? '' : what} ${remedies[slug] ?? ''}`.trim();
    },
  };
}

async function callRoute(routes: readonly Route[], tool: OperationTool, args: Members, call: Call) {
  const request = tool.requests.find(({ when }) => !when || (args[when] ?? null) !== null);
  const route = routes.find(
    ({ method, template }) => method === request?.method && template === request.template,
  );
  if (!request || !route) throw new Error(`${tool.listing.name} has no route`);
  const { ids, offset, ...parts } = requestOf(tool, request, args);
  const isRead = route.method === 'GET';
  // As for a GET over HTTP: refuse to read while too many large answers wait to be sent.
  if (isRead) call.ensureSendable();
  const reply = await route.handle(inPlaceOf(call, parts));
  const content = [{ type: 'text', text: textOf(reply, ids, isRead, offset) }];
  return { content, createdIds: isRead ? {} : { ...ids, ...reply.createdIds } };
}

/** Returns the call of another request, which the same client makes instead. */
function inPlaceOf(call: Call, request: Partial<Call>): Call {
  return new Proxy(call, {
    get(original, name) {
      const value = Reflect.get(name in request ? request : original, name);
      return typeof value === 'function' ? value.bind(original) : value;
    },
  });
}
