// Assistants: POST /mcp speaks the Model Context Protocol. Its tools are operations.
import type { Feature, Series } from '../feature.ts';
import type { Reply } from '../http/reply.ts';
import { tools } from './generated.js';
import { mcpRoute } from './protocol.ts';
import { toolOver } from './tools.ts';

/** The endpoint for assistants, whose tools make requests to the routes of all features. */
export function assistants(): Feature {
  const calls: Series = {};
  const count = <Answer extends Reply | undefined>(answer: Answer): Answer => {
    const { tool, problem = '' } = answer?.logged ?? {};
    const labels = `{tool="${tool}",problem="${problem}"}`;
    if (tool !== undefined) calls[labels] = (calls[labels] ?? 0) + 1;
    return answer;
  };
  return {
    routes(_, { routes }) {
      const { handle, refuse, ...route } = mcpRoute(tools.map((tool) => toolOver(routes, tool)));
      return [
        {
          ...route,
          handle: async (call) => count(await handle(call)),
          refuse: (problem, call) => count(refuse?.(problem, call)),
        },
      ];
    },
    readings: { notes_tool_calls_total: () => calls },
  };
}
