// Tools that stand for operations of the contract: a call makes the request that the operation
// takes, and goes to the same route, so that it can do no more than HTTP.
import { describeViolations } from '../contract/violations.ts';
import type { Problem } from '../http/problem.ts';
import type { Call, Route } from '../http/route.ts';
import type { Members } from '../resources/resource.ts';
import { requestOf } from './arguments.ts';
import type { OperationTool } from './generated.js';
import type { Tool } from './protocol.ts';
import { textOf } from './results.ts';

/** Returns a tool that makes requests to some of `routes`. */
export function toolOver(routes: () => readonly Route[], tool: OperationTool): Tool {
  const { listing, requests } = tool;
  const { ifMissing } = requests.at(-1) ?? {};
  return {
    listing,
    call: (args, call) =>
      callRoute(routes(), tool, args, call).catch((error) => {
        if (!ifMissing || Object(error).slug !== 'not-found') throw error;
        return callRoute(routes(), tool, { ...args, ...ifMissing }, call);
      }),
    explain: (problem) => explain(problem, tool),
  };
}

/** Says what is wrong in terms of the arguments, and for each of them what to do. */
function explain({ slug, message, extras: { errors } }: Problem, tool: OperationTool): string {
  const { arguments: declared, remedies } = tool;
  // The detail of a 412 speaks of headers.
  const what = slug === 'precondition-failed' ? '' : message;
  if (!errors) return `${what} ${remedies[slug] ?? ''}`.trim();
  const hints = new Set<string | undefined>();
  const named = errors.map(({ field, detail, ...error }) => {
    const [member = '', ...rest] = field.split('.');
    const isKnown = error.code !== 'unknown';
    const name = (isKnown && declared.find(({ target }) => target === member)?.name) || member;
    hints.add((isKnown && remedies[name]) || remedies[error.code] || remedies[slug]);
    // Null counts as not given.
    return { ...error, field: [name, ...rest].join('.'), detail: detail.replace(' or null', '') };
  });
  return [describeViolations(named, named.length), ...hints].join(' ');
}

async function callRoute(routes: readonly Route[], tool: OperationTool, args: Members, call: Call) {
  const request = requestOf(tool, args);
  const { method, template, ids } = request;
  const route = routes.find((each) => each.method === method && each.template === template);
  if (!route) throw new Error(`${tool.listing.name} has no route`);
  const isRead = method === 'GET';
  // As for a GET over HTTP: refuse to read while too many large answers wait to be sent.
  if (isRead) call.ensureSendable();
  const reply = await route.handle(inPlaceOf(call, request));
  const content = [{ type: 'text', text: textOf(reply, request) }];
  return { content, createdIds: isRead ? {} : { ...ids, ...reply.createdIds } };
}

/** Returns the call of another request, which the same client makes instead. */
function inPlaceOf(call: Call, request: ReturnType<typeof requestOf>): Call {
  const { method, pathValues, query, headers, body } = request;
  return {
    ...{ method, pathValues, query, headers, body },
    ...{ format: 'json', bytes: call.bytes, key: call.key },
    clientId: () => call.clientId(),
    charge: (requests) => call.charge(requests),
    ensureSendable: () => call.ensureSendable(),
    refusalFor: (bytes) => call.refusalFor(bytes),
    reserveLarge: () => call.reserveLarge(),
    signal: () => call.signal(),
    inputSignal: () => call.inputSignal(),
  };
}
