// Assistants: POST /mcp speaks the Model Context Protocol. Its tools are operations.
import type { Feature, Series } from '../feature.ts';
import { tools } from './generated.js';
import { mcpRoute } from './protocol.ts';
import { toolOver } from './tools.ts';

/** The endpoint for assistants, whose tools make requests to the routes of all features. */
export function assistants(): Feature {
  const calls: Series = {};
  return {
    routes: (_, { routes }) => [mcpRoute(tools.map((tool) => toolOver(routes, tool)))],
    onEnd({ exchange }) {
      const { tool, problem = '' } = exchange.logged ?? {};
      if (tool === undefined) return;
      const labels = `{tool="${tool}",problem="${problem}"}`;
      calls[labels] = (calls[labels] ?? 0) + 1;
    },
    readings: { notes_tool_calls_total: () => calls },
  };
}
