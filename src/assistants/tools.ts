// Tools that stand for operations of the contract: a call makes the request that the operation
// takes, and goes to the same route, so that it can do no more than HTTP.
import type { OperationTool, ToolListing, ToolRequest } from '../contract/generated.js';
import { describeViolations } from '../contract/violations.ts';
import type { Problem } from '../http/problem.ts';
import type { Call, Route } from '../http/route.ts';
import { requestOf } from './arguments.ts';
import type { Members, Tool, ToolResult } from './protocol.ts';
import { textOf } from './results.ts';

type Routed = ToolRequest & { readonly route: Route };

/** Returns the tools over `routes`, without those whose operations have no route there. */
export function toolsOver(routes: readonly Route[], tools: readonly OperationTool[]): Tool[] {
  return tools.flatMap((tool) => {
    const requests = tool.requests.flatMap((request) => {
      const { method, template } = request;
      const route = routes.find((each) => each.method === method && each.template === template);
      return route ? [{ ...request, route }] : [];
    });
    return requests.length === tool.requests.length ? [new ContractTool(tool, requests)] : [];
  });
}

class ContractTool implements Tool {
  readonly listing: ToolListing;
  readonly #tool: OperationTool;
  readonly #requests: readonly Routed[];

  constructor(tool: OperationTool, requests: readonly Routed[]) {
    this.listing = tool.listing;
    this.#tool = tool;
    this.#requests = requests;
  }

  async call(args: Members, call: Call): Promise<ToolResult> {
    const isChosen = ({ when }: Routed) => when === undefined || (args[when] ?? null) !== null;
    const request = this.#requests.find(isChosen);
    if (!request) throw new Error(`the last request of ${this.listing.name} has a condition`);
    const { call: parts, inPath, offset } = requestOf(this.#tool, request, args);
    const isRead = request.method === 'GET';
    // As for a GET over HTTP: refuse to read while too many large answers wait to be sent.
    if (isRead) call.ensureSendable();
    const reply = await request.route.handle(inPlaceOf(call, parts));
    const ids = Object.fromEntries(Object.entries(inPath).map(([name, id]) => [name, Number(id)]));
    const text = textOf(reply, ids, isRead, offset);
    const createdIds = isRead ? {} : { ...ids, ...reply.createdIds };
    return { content: [{ type: 'text', text }], createdIds };
  }

  explain({ slug, message, extras: { errors } }: Problem): string {
    const what = errors ? describeViolations(errors, errors.length) : message;
    const remedy = this.#tool.remedies[slug];
    return remedy ? `${what} ${remedy}` : what;
  }
}

/** Returns the call of another request that the same client makes instead. */
function inPlaceOf(
  call: Call,
  request: Pick<Call, 'method' | 'pathValues' | 'query' | 'headers' | 'body'>,
): Call {
  return {
    ...request,
    format: 'json',
    bytes: call.bytes,
    key: call.key,
    clientId: () => call.clientId(),
    charge: (requests) => call.charge(requests),
    ensureSendable: () => call.ensureSendable(),
    reserveLarge: () => call.reserveLarge(),
    signal: () => call.signal(),
    inputSignal: () => call.inputSignal(),
  };
}
