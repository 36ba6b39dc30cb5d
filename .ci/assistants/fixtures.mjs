// The endpoint for assistants with the tools by which the official suite tests how a server without
// sessions refuses and answers, instead of those of the service.
import { mcpRoute, RpcError } from '../../dist/src/assistants/protocol.js';
import { startBareServer } from '../../dist/test/support/bare-server.js';

function needSampling() {
  const requiredCapabilities = { sampling: {} };
  throw new RpcError(400, -32_021, 'Missing required client capability', { requiredCapabilities });
}

const answer = () => ({ content: [{ type: 'text', text: 'done' }] });

const tools = Object.entries({
  test_missing_capability: needSampling,
  test_streaming_elicitation: answer,
  test_logging_tool: answer,
}).map(([name, call]) => ({
  listing: {
    name,
    title: name,
    description: `Answers as the suite expects of ${name}.`,
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true },
  },
  call: async () => call(),
}));

const { port } = await startBareServer({ after() {} }, [mcpRoute(tools)]);
console.log(`notes-server listening on http://127.0.0.1:${port}`);
