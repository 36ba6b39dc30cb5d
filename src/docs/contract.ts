// The contract at /openapi.json: with the URLs of the service, and only what it serves.
import type { Together } from '../feature.ts';
import type { Bases } from '../http/paths.ts';

/** The base URL in the contract and its examples, and the base of its problem types. */
const CONTRACT_BASES = /http:\/\/127\.0\.0\.1:3000(\/problems)?/g;

/** Returns the contract with these bases instead of its own. */
export function contractAt(contract: string, { baseUrl, problemBase }: Bases): string {
  // One pass, because a base such as http://127.0.0.1:30001 may contain the replaced text.
  const replace = (_: string, problems?: string) => (problems ? problemBase : baseUrl);
  return contract.replace(CONTRACT_BASES, replace);
}

type Item = Readonly<Record<string, { readonly operationId?: string }>>;

/** Returns the contract without the operations that have no route, and without links to them. */
export function servedPart(contract: string, { routes }: Together): string {
  const served = new Set(
    routes().flatMap(({ method, template }) => [template, `${method} ${template}`]),
  );
  const parsed: { readonly paths: Record<string, Item> } = JSON.parse(contract);
  const items = Object.entries(parsed.paths);
  const removed = new Set<unknown>();
  for (const [path, item] of items)
    for (const [method, { operationId }] of Object.entries(item))
      if (operationId && !served.has(`${method.toUpperCase()} ${path}`)) removed.add(operationId);
  const paths = Object.fromEntries(items.filter(([path]) => served.has(path)));
  return JSON.stringify({ ...parsed, paths }, (_, value) =>
    removed.has(Object(value).operationId) ? undefined : value,
  );
}
