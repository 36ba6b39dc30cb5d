// Assistants: POST /mcp speaks the Model Context Protocol. Its tools are operations.
import { tools } from '../contract/generated.js';
import type { Feature } from '../feature.ts';
import { mcpRoute, type Tool } from './protocol.ts';
import { toolsOver } from './tools.ts';

/** The endpoint for assistants, whose tools make requests to the routes of all features. */
export function assistants(): Feature {
  let made: readonly Tool[] | undefined;
  return {
    routes(_, all) {
      // The routes of all features are known only when a request arrives.
      const find = () => {
        made ??= toolsOver(all(), tools);
        return made;
      };
      return [mcpRoute(find)];
    },
  };
}
