// Messages of the Model Context Protocol, as assistants of both of its eras send them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ends, temporaryFolder } from './engine.ts';
import type { RequestParts } from './http.ts';
import { type Service, startService } from './service.ts';

/** The revision without a handshake. */
export const MODERN = '2026-07-28';
/** The revisions of clients that begin with `initialize`, the newest first. */
export const LEGACY = ['2025-11-25', '2025-06-18'] as const;

const PREFIX = 'io.modelcontextprotocol/';

/** What every modern request says of its client. */
export const META = {
  [`${PREFIX}protocolVersion`]: MODERN,
  [`${PREFIX}clientCapabilities`]: {},
};

type Params = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

/** Returns a message of the legacy era; members of `params` that are undefined are left out. */
export function legacy(method: string, params: Params = {}, headers: Headers = {}): RequestParts {
  return { json: { jsonrpc: '2.0', id: 1, method, params }, headers };
}

/** Returns a message of the modern era. A header that is empty is left out. */
export function modern(method: string, params: Params = {}, headers: Headers = {}): RequestParts {
  const named = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  const mirrored = { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...named };
  const sent = Object.entries({ ...mirrored, ...headers }).filter(([, value]) => value !== '');
  return legacy(method, { _meta: META, ...params }, Object.fromEntries(sent));
}

/** What a tool answered. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  /** The parsed text; undefined for an error. */
  // biome-ignore lint/suspicious/noExplicitAny: each tool answers something else.
  readonly json: any;
}

/** Calls a tool of `service`; rejects if the answer is not the result of a tool. */
export async function callTool(
  service: Pick<Service, 'request'>,
  name: string,
  args: unknown = {},
  headers: Headers = {},
): Promise<ToolAnswer> {
  const parts = legacy('tools/call', { name, arguments: args }, headers);
  const { status, json, text } = await service.request('POST', '/mcp', parts);
  const { isError = false, content } = json?.result ?? {};
  if (status !== 200 || content?.length !== 1 || content[0].type !== 'text')
    throw new Error(`${name} answers ${status} ${text}`);
  const [block] = content;
  return { isError, text: block.text, json: isError ? undefined : JSON.parse(block.text) };
}

/** Starts a service, and returns the calls of an assistant: those it answers, and refuses. */
export async function startAssistant(test: Ends) {
  const service = await startService(test);
  return {
    service,
    async ask(name: string, args: object = {}) {
      const { isError, text, json } = await callTool(service, name, args);
      assert.ok(!isError, text);
      return json;
    },
    async refusal(name: string, args: object = {}): Promise<string> {
      const { isError, text } = await callTool(service, name, args);
      assert.ok(isError, text);
      return text;
    },
  };
}

/** Returns the option for a file of keys with these lines. */
export function withKeys(test: Ends, ...lines: readonly string[]): { apiKeysFile: string } {
  const apiKeysFile = join(temporaryFolder(test), 'keys');
  writeFileSync(apiKeysFile, lines.join('\n'));
  return { apiKeysFile };
}
