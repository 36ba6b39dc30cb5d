// The Model Context Protocol over stateless HTTP: its revision 2026-07-28, here called modern, and
// two earlier ones, whose clients begin with `initialize`.
import { endpoint } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import type { Members } from '../resources/resource.ts';
import { readVersion } from '../version.ts';
import { type OperationTool, TOOL_HELP } from './generated.js';

/** A tool. `call` resolves with a result and ids for the log; a Problem refuses the call. */
export interface Tool {
  readonly listing: OperationTool['listing'];
  readonly call: (args: Members, call: Call) => Promise<object & Pick<Reply, 'createdIds'>>;
  /** Says what is wrong and what to do; without it, the detail of the problem does. */
  readonly explain?: (problem: Problem, call: Call) => string;
}

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: Members;
  readonly isModern: boolean;
}

const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18'];
const VERSIONS = [MODERN, ...LEGACY];
const META = 'io.modelcontextprotocol/';
const META_RULE = `_meta must have ${META}protocolVersion and ${META}clientCapabilities`;
const SERVER = { name: 'notes-server', version: readVersion() };
const CACHING = { ttlMs: 3_600_000, cacheScope: 'public' };
const ABOUT = { capabilities: { tools: {} }, instructions: TOOL_HELP.instructions };

/** The methods with a parameter that the header `mcp-name` repeats. */
const NAMED = /^(?:tools\/call|prompts\/get|resources\/read)$/;

/** Longer ids would make answers large. */
const MAX_ID_LENGTH = 1_000;
const MAX_SHOWN = 64;
const INVALID = 'The body must be one message of JSON-RPC 2.0, with an integer or a text as id';
const NO_STORE = ['cache-control', 'no-store'];

/** An error of JSON-RPC, which HTTP sends with this status. */
export class RpcError extends Error {
  readonly status: number;
  readonly error: object;

  constructor(status: number, code: number, message: string, data?: object) {
    super(message);
    this.status = status;
    this.error = { code, message, data };
  }
}

const running = new WeakMap<Call, { readonly request: Request; readonly tool: Tool }>();

/** Returns the endpoint with these tools, in the order in which clients list them. */
export function mcpRoute(tools: readonly Tool[]): Route {
  // The contract lets all messages pass: the protocol has codes of its own for what is wrong.
  const readBody = () => ({});
  return { ...endpoint('POST', '/mcp', ({ call }) => answer(call, tools), readBody), refuse };
}

async function answer(call: Call, tools: readonly Tool[]): Promise<Reply> {
  const message = isObject(call.body) ? call.body : {};
  const { jsonrpc, method } = message;
  const params = isObject(message.params) ? message.params : {};
  const id = isId(message.id) ? message.id : undefined;
  try {
    if (id !== message.id || jsonrpc !== '2.0' || typeof method !== 'string')
      throw new RpcError(400, -32_600, INVALID);
    if (id === undefined) return { status: 202, headers: NO_STORE };
    const isModern = checkVersion(call, method, params);
    return await carryOut({ id, method, params, isModern }, call, tools);
  } catch (error) {
    if (error instanceof RpcError) return messageReply(error.status, { id, error: error.error });
    throw error;
  }
}

function carryOut(request: Request, call: Call, tools: readonly Tool[]): Reply | Promise<Reply> {
  const { method, params, isModern } = request;
  if (method === 'tools/call') return callTool(request, call, tools);
  if (method === 'tools/list') {
    if (params.cursor !== undefined) throw new RpcError(200, -32_602, 'Unknown cursor');
    const usable = tools.filter((tool) => isAllowed(tool, call)).map(({ listing }) => listing);
    const caching = isModern && { ...CACHING, cacheScope: 'private' };
    return resultReply(request, { tools: usable, ...caching });
  }
  if (method === 'server/discover' && isModern)
    return resultReply(request, { supportedVersions: VERSIONS, ...ABOUT, ...CACHING });
  if (method === 'initialize' && !isModern) {
    const protocolVersion = LEGACY.find((each) => each === params.protocolVersion) ?? LEGACY[0];
    return resultReply(request, { protocolVersion, serverInfo: SERVER, ...ABOUT });
  }
  if (method === 'ping' && !isModern) return resultReply(request, {});
  // Earlier clients take a 404 for a fault of the transport.
  throw new RpcError(isModern ? 404 : 200, -32_601, `Method not found: ${shown(method)}`);
}

async function callTool(request: Request, call: Call, tools: readonly Tool[]): Promise<Reply> {
  const { name } = request.params;
  const tool = tools.find(({ listing }) => listing.name === name);
  if (!tool) throw new RpcError(200, -32_602, `Unknown tool: ${shown(name)}`);
  // To a schema 5.0 is an integer, and models cannot help it; in bodies of the API it is not.
  const { arguments: args = {} } = JSON.parse(`${call.bytes}`).params;
  if (!isObject(args)) throw new RpcError(200, -32_602, 'arguments must be an object');
  running.set(call, { request, tool });
  if (!isAllowed(tool, call)) throw new Problem('insufficient-access', 'This key may only read.');
  const { createdIds, ...result } = await tool.call(args, call);
  return { ...resultReply(request, result), createdIds, logged: { tool: tool.listing.name } };
}

/** Makes a result of what HTTP would answer with a problem. */
function refuse(problem: Problem, call: Call): Reply | undefined {
  const { slug, status, message } = problem;
  const { request, tool } = running.get(call) ?? {};
  if (!request || !tool) {
    const isUnread = call.body === undefined && slug === 'bad-request';
    return isUnread ? messageReply(400, { error: { code: -32_700, message } }) : undefined;
  }
  const text = tool.explain?.(problem, call) ?? message;
  const reply =
    status === 500
      ? messageReply(200, { id: request.id, error: { code: -32_603, message } })
      : resultReply(request, { content: [{ type: 'text', text }], isError: true });
  return { ...reply, logged: { tool: tool.listing.name, problem: slug } };
}

function isAllowed({ listing }: Tool, { key }: Call): boolean {
  return key?.access !== 'read' || listing.annotations.readOnlyHint === true;
}

/** Returns whether a request is modern; checks that it and its headers agree. */
function checkVersion({ headers }: Call, method: string, params: Members): boolean {
  const sent = headers['mcp-protocol-version'] as string | undefined;
  const { _meta: meta = {} } = params as { readonly _meta?: Members };
  const version = meta?.[`${META}protocolVersion`];
  const isModern = version !== undefined || sent === MODERN;
  if (isModern) {
    if (typeof version !== 'string' || !isObject(meta[`${META}clientCapabilities`]))
      throw new RpcError(400, -32_602, META_RULE);
    checkHeader('MCP-Protocol-Version', sent, version);
  }
  const isKnown = sent === undefined || LEGACY.includes(sent) || method === 'initialize';
  if (isModern ? version !== MODERN : !isKnown)
    throw new RpcError(400, -32_022, 'Unsupported protocol version', {
      supported: VERSIONS,
      requested: shown(version ?? sent),
    });
  if (!isModern) return false;
  checkHeader('Mcp-Method', headers['mcp-method'], method);
  const name = method === 'resources/read' ? params.uri : params.name;
  if (NAMED.test(method)) checkHeader('Mcp-Name', decodeName(headers['mcp-name']), name);
  return true;
}

function checkHeader(name: string, sent: unknown, value: unknown): void {
  if (sent !== undefined && sent === value) return;
  const found = sent === undefined ? 'is missing or malformed' : `is '${shown(sent)}'`;
  const message = `Header mismatch: the header ${name} ${found}, but must be`;
  throw new RpcError(400, -32_020, `${message} '${shown(value)}', as in the body`);
}

/** Returns the name in a header, where one that is not visible ASCII has the form of Base64. */
function decodeName(field: unknown): unknown {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(`${field ?? ''}`) ?? [];
  if (encoded === undefined) return field;
  const name = `${Buffer.from(encoded, 'base64')}`;
  return Buffer.from(name).toString('base64') === encoded ? name : undefined;
}

function resultReply({ id, isModern }: Request, result: object): Reply {
  const meta = { [`${META}serverInfo`]: SERVER };
  const whole = isModern ? { resultType: 'complete', ...result, _meta: meta } : result;
  return messageReply(200, { id, result: whole });
}

function messageReply(status: number, members: object): Reply {
  return jsonReply(status, JSON.stringify({ jsonrpc: '2.0', ...members }), NO_STORE);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}

/** Returns the beginning of a text that a client has sent, to quote it. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_SHOWN).toWellFormed() : '';
}
