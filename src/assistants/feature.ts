// Assistants: POST /mcp speaks the Model Context Protocol. Its tools are operations.
import { tools } from '../contract/generated.js';
import type { Feature } from '../feature.ts';
import { mcpRoute } from './protocol.ts';
import { toolOver } from './tools.ts';

/** The endpoint for assistants, whose tools make requests to the routes of all features. */
export function assistants(): Feature {
  return { routes: (_, all) => [mcpRoute(tools.map((tool) => toolOver(all, tool)))] };
}
