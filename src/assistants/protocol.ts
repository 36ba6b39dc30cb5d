// The Model Context Protocol over stateless HTTP: its revision 2026-07-28, here called modern, and
// two earlier ones, whose clients begin with `initialize`.
import { isUtf8 } from 'node:buffer';
import { endpoint } from '../contract/endpoint.ts';
import { INSTRUCTIONS, type ToolListing } from '../contract/generated.js';
import { Problem } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { readVersion } from '../version.ts';

/** The members of an object that a client has sent. */
export type Members = Readonly<Record<string, unknown>>;

/** What a tool answers; the ids are for the log. */
export interface ToolResult extends Pick<Reply, 'createdIds'> {
  readonly content: readonly object[];
}

/** A tool. `call` rejects with a Problem to refuse. */
export interface Tool {
  readonly listing: ToolListing;
  readonly call: (args: Members, call: Call) => Promise<ToolResult>;
  /** Says what is wrong and what to do; without it, the detail of the problem does. */
  readonly explain?: (problem: Problem) => string;
}

interface Request {
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Members;
  readonly isModern: boolean;
}

const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18'];
const META = 'io.modelcontextprotocol/';
const SERVER = { name: 'notes-server', version: readVersion() };
const ABOUT = { capabilities: { tools: {} }, instructions: INSTRUCTIONS };
const TTL_MS = 3_600_000;

/** Longer ids would make answers large. */
const MAX_ID_LENGTH = 1_000;
const MAX_SHOWN = 64;

const CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
};

/** The parameters that the header `mcp-name` repeats. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** An answer with an error of JSON-RPC. */
class Failure extends Error {
  readonly status: number;
  readonly error: object;

  constructor(status: number, code: keyof typeof CODES, message: string, data?: object) {
    super(message);
    this.status = status;
    this.error = errorOf(code, message, data);
  }
}

function errorOf(code: keyof typeof CODES, message: string, data?: object): object {
  return { code: CODES[code], message, data };
}

/** Returns the endpoint; `tools` returns its tools in the order in which clients list them. */
export function mcpRoute(tools: () => readonly Tool[]): Route {
  const protocol = new Protocol(tools);
  // The contract lets all messages pass: the protocol has codes of its own for what is wrong.
  const route = endpoint(
    'POST',
    '/mcp',
    ({ call }) => protocol.answer(call),
    () => ({}),
  );
  return { ...route, refuse: protocol.refuse };
}

class Protocol {
  readonly #tools: () => readonly Tool[];
  readonly #running = new WeakMap<Call, { readonly request: Request; readonly tool: Tool }>();

  constructor(tools: () => readonly Tool[]) {
    this.#tools = tools;
  }

  async answer(call: Call): Promise<Reply> {
    const { body } = call;
    const id = isObject(body) && isId(body.id) ? body.id : undefined;
    try {
      const { method, params } = readMessage(body);
      if (id === undefined) return { status: 202, headers: ['cache-control', 'no-store'] };
      const isModern = checkVersion(call, method, params);
      return await this.#carryOut({ id, method, params, isModern }, call);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return messageReply(error.status, { id, error: error.error });
    }
  }

  #carryOut(request: Request, call: Call): Reply | Promise<Reply> {
    const { method, params, isModern } = request;
    if (method === 'tools/list') return resultReply(request, this.#list(request, call));
    if (method === 'tools/call') return this.#call(request, call);
    if (method === 'server/discover' && isModern) {
      const caching = { ttlMs: TTL_MS, cacheScope: 'public' };
      return resultReply(request, { supportedVersions: [MODERN, ...LEGACY], ...ABOUT, ...caching });
    }
    if (method === 'initialize' && !isModern) {
      const protocolVersion = LEGACY.find((each) => each === params.protocolVersion) ?? LEGACY[0];
      return resultReply(request, { protocolVersion, serverInfo: SERVER, ...ABOUT });
    }
    if (method === 'ping' && !isModern) return resultReply(request, {});
    // Earlier clients take a 404 for a fault of the transport.
    const status = isModern ? 404 : 200;
    throw new Failure(status, 'unknownMethod', `Method not found: ${shown(method)}`);
  }

  #list({ params, isModern }: Request, { key }: Call): object {
    if (params.cursor !== undefined) throw new Failure(200, 'invalidParams', 'Unknown cursor');
    const usable = this.#tools().filter((tool) => isAllowed(tool, key));
    const caching = isModern ? { ttlMs: TTL_MS, cacheScope: 'private' } : {};
    return { tools: usable.map(({ listing }) => listing), ...caching };
  }

  async #call(request: Request, call: Call): Promise<Reply> {
    const { name, arguments: args = {} } = request.params;
    const tool = this.#tools().find(({ listing }) => listing.name === name);
    if (!tool) throw new Failure(200, 'invalidParams', `Unknown tool: ${shown(name)}`);
    if (!isObject(args)) throw new Failure(200, 'invalidParams', 'arguments must be an object');
    this.#running.set(call, { request, tool });
    if (!isAllowed(tool, call.key))
      throw new Problem('insufficient-access', 'This key may only read.');
    const { createdIds, ...result } = await tool.call(args, call);
    return { ...resultReply(request, result), createdIds, logged: { tool: tool.listing.name } };
  }

  /** Makes a result of what HTTP would answer with a problem. */
  readonly refuse = (problem: Problem, call: Call): Reply | undefined => {
    const { slug, status, message } = problem;
    const running = this.#running.get(call);
    if (!running) {
      const isUnread = call.body === undefined && slug === 'bad-request';
      return isUnread ? messageReply(400, { error: errorOf('parseError', message) }) : undefined;
    }
    const { request, tool } = running;
    const logged = { tool: tool.listing.name, problem: slug };
    if (status === 500) {
      const error = errorOf('internalError', message);
      return { ...messageReply(200, { id: request.id, error }), logged };
    }
    const text = tool.explain?.(problem) ?? message;
    const result = { content: [{ type: 'text', text }], isError: true };
    return { ...resultReply(request, result), logged };
  };
}

function isAllowed({ listing }: Tool, key: Call['key']): boolean {
  return key?.access !== 'read' || listing.annotations.readOnlyHint === true;
}

/** Returns what a request or a notification asks for. */
function readMessage(body: unknown): Pick<Request, 'method' | 'params'> {
  const fail = (rule: string) => new Failure(400, 'invalidRequest', rule);
  if (!isObject(body)) throw fail('The body must be one message of JSON-RPC, which is an object');
  const { id, jsonrpc, method, params } = body;
  if (id !== undefined && !isId(id))
    throw fail(`id must be an integer, or a string of at most ${MAX_ID_LENGTH} characters`);
  if (jsonrpc !== '2.0' || typeof method !== 'string')
    throw fail('jsonrpc must be "2.0", and method a string');
  return { method, params: isObject(params) ? params : {} };
}

/** Returns whether a request is of the modern revision; checks that it and its headers agree. */
function checkVersion({ headers }: Call, method: string, params: Members): boolean {
  const sent = headers['mcp-protocol-version'];
  const meta = isObject(params._meta) ? params._meta : {};
  const version = meta[`${META}protocolVersion`];
  const supported = [MODERN, ...LEGACY];
  const unsupported = (requested: unknown) =>
    new Failure(400, 'unsupportedVersion', 'Unsupported protocol version', {
      supported,
      requested: shown(requested),
    });
  if (version === undefined && !isModernVersion(sent)) {
    const isKnown = sent === undefined || LEGACY.includes(`${sent}`) || method === 'initialize';
    if (!isKnown) throw unsupported(sent);
    return false;
  }
  for (const [name, isValid] of [
    ['protocolVersion', typeof version === 'string'],
    ['clientCapabilities', isObject(meta[`${META}clientCapabilities`])],
  ] as const)
    if (!isValid) throw new Failure(400, 'invalidParams', `_meta must have ${META}${name}`);
  checkHeader('MCP-Protocol-Version', sent, version);
  if (version !== MODERN) throw unsupported(version);
  checkHeader('Mcp-Method', headers['mcp-method'], method);
  const name = NAMED.get(method);
  if (name) checkHeader('Mcp-Name', decodeName(headers['mcp-name']), params[name]);
  return true;
}

/** Whether a header names the modern revision, or a later one. */
function isModernVersion(sent: unknown): boolean {
  return typeof sent === 'string' && /^\d{4}-\d\d-\d\d$/.test(sent) && sent >= MODERN;
}

function checkHeader(name: string, sent: unknown, value: unknown): void {
  if (sent !== undefined && sent === value) return;
  const found = sent === undefined ? 'is missing or malformed' : `value '${shown(sent)}'`;
  const message = `Header mismatch: ${name} header ${found} does not match body value`;
  throw new Failure(400, 'headerMismatch', `${message} '${shown(value)}'`);
}

/** Returns the name in a header; one that is not visible ASCII is sent in Base64. */
function decodeName(field: unknown): unknown {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(`${field ?? ''}`) ?? [];
  if (encoded === undefined) return field;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded && isUtf8(bytes) ? `${bytes}` : undefined;
}

function resultReply({ id, isModern }: Request, result: object): Reply {
  const meta = { [`${META}serverInfo`]: SERVER };
  const whole = isModern ? { resultType: 'complete', ...result, _meta: meta } : result;
  return messageReply(200, { id, result: whole });
}

function messageReply(status: number, members: object): Reply {
  const json = JSON.stringify({ jsonrpc: '2.0', ...members });
  return jsonReply(status, json, ['cache-control', 'no-store']);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}

/** Returns the beginning of a text that a client has sent, to quote it. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_SHOWN).toWellFormed() : '';
}
