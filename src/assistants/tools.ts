// Tools that stand for operations of the contract: a call makes the request that the operation
// takes, and goes to the same route, so that it can do no more than HTTP.
import { randomUUID } from 'node:crypto';
import { describeViolations } from '../contract/violations.ts';
import type { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import type { Members } from '../resources/resource.ts';
import { requestOf, type ToolRequest } from './arguments.ts';
import type { OperationTool, Requested } from './generated.js';
import type { Tool } from './protocol.ts';
import { changesOf, textOf } from './results.ts';

/** Names of the API that are no words of the language. */
const OWN_WORD = /[_-]/;

/** The keys of the calls that write, with which they can be repeated. */
const keys = new WeakMap<Call, string>();

/** Returns a tool that makes requests to some of `routes`. */
export function toolOver(routes: () => readonly Route[], tool: OperationTool): Tool {
  const { listing, requests, find } = tool;
  const { ifMissing } = requests.at(-1) ?? {};

  /** Gives the id of the note instead of its name, where only the id has a path. */
  async function withId(args: Members, call: Call): Promise<Members> {
    const { name, ...others } = args;
    if (!find || (name ?? undefined) === undefined || (args.id ?? undefined) !== undefined)
      return args;
    const { body } = await ask(routes(), find, [`${name}`], 'fields=id', call);
    return { ...others, id: JSON.parse(`${body}`).id };
  }

  return {
    listing,
    async call(given, call) {
      const args = await withId(given, call);
      return callRoute(routes(), tool, args, call).catch((error) => {
        if (!ifMissing || Object(error).slug !== 'not-found') throw error;
        return callRoute(routes(), tool, { ...args, ...ifMissing }, call);
      });
    },
    explain: (problem, call) => explain(problem, tool, keys.get(call)),
  };
}

/** Says what is wrong in terms of the arguments, and for each of them what to do. */
function explain(
  { slug, message, extras: { errors } }: Problem,
  { arguments: declared, remedies }: OperationTool,
  key: string | undefined,
): string {
  // What follows in the detail speaks of headers.
  if (slug === 'service-unavailable' && key !== undefined)
    return `${message.replace(/\. .*/, '.')} ${remedies.repeat?.replace('KEY', key)}`;
  const what = slug === 'precondition-failed' ? '' : message;
  if (!errors) return `${what} ${remedies[slug] ?? ''}`.trim();
  const hints = new Set<string | undefined>();
  const named = errors.map(({ field, detail, ...error }) => {
    const [member = '', ...rest] = field.split('.');
    const isKnown = error.code !== 'unknown';
    const name = (isKnown && declared.find(({ target }) => target === member)?.name) || member;
    hints.add((isKnown && remedies[name]) || remedies[error.code] || remedies[slug]);
    // Null counts as not given.
    const rule = declared.reduce(
      (text, each) => (OWN_WORD.test(each.target) ? text.replaceAll(each.target, each.name) : text),
      detail.replace(' or null', ''),
    );
    return { ...error, field: [name, ...rest].join('.'), detail: rule };
  });
  return [describeViolations(named, named.length), ...hints].join(' ');
}

async function callRoute(routes: readonly Route[], tool: OperationTool, args: Members, call: Call) {
  const request = requestOf(tool, args);
  const { ids, isRead, headers } = request;
  if (!isRead) {
    headers['idempotency-key'] ??= randomUUID();
    keys.set(call, headers['idempotency-key'].replaceAll('"', ''));
  }
  // As for a GET over HTTP: refuse to read while too many large answers wait to be sent.
  if (isRead) call.ensureSendable();
  const reply = await routeOf(routes, request).handle(inPlaceOf(call, request));
  const createdIds = isRead ? {} : { ...ids, ...reply.createdIds };
  const { show, titles } = tool;
  const text = titles
    ? await changesOf(reply, (id) => titleOf(routes, titles, id, call))
    : show
      ? `${(await ask(routes, show, [`${createdIds.note_id}`], show.query, call)).body}`
      : textOf(reply, request);
  return { content: [{ type: 'text', text }], createdIds };
}

/** Resolves with the title of a note as the first request finds it; null if none does. */
async function titleOf(
  routes: readonly Route[],
  [first, ...others]: readonly Requested[],
  id: string,
  call: Call,
): Promise<unknown> {
  if (!first) return null;
  try {
    call.ensureSendable();
    const { body } = await ask(routes, first, [id], '', call);
    return JSON.parse(`${body}`).title;
  } catch (error) {
    if (Object(error).slug !== 'not-found') throw error;
    return titleOf(routes, others, id, call);
  }
}

/** Resolves with the reply to another request that reads. */
async function ask(
  routes: readonly Route[],
  requested: Requested,
  pathValues: readonly string[],
  query: string,
  call: Call,
): Promise<Reply> {
  const request = { ...requested, pathValues, query, headers: {}, body: {}, isRead: true };
  return routeOf(routes, requested).handle(inPlaceOf(call, request));
}

function routeOf(routes: readonly Route[], { method, template }: Requested): Route {
  const route = routes.find((each) => each.method === method && each.template === template);
  if (!route) throw new Error(`there is no route ${method} ${template}`);
  return route;
}

/** Returns the call of another request, which the same client makes instead. */
function inPlaceOf(call: Call, request: Sent): Call {
  const { method, pathValues, query, headers, body, isRead } = request;
  // What a repetition has in common with the first call.
  const bytes = isRead ? call.bytes : Buffer.from(JSON.stringify(body));
  return {
    method,
    pathValues,
    query: `${query}`,
    headers,
    body,
    format: 'json',
    bytes,
    key: call.key,
    clientId: () => call.clientId(),
    charge: (requests) => call.charge(requests),
    ensureSendable: () => call.ensureSendable(),
    refusalFor: (bytes) => call.refusalFor(bytes),
    reserveLarge: () => call.reserveLarge(),
    signal: () => call.signal(),
    inputSignal: () => call.inputSignal(),
  };
}

/** What a call needs of a request. */
interface Sent extends Pick<ToolRequest, 'method' | 'headers' | 'body' | 'isRead'> {
  readonly pathValues: readonly string[];
  readonly query: string | URLSearchParams;
}
