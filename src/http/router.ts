// Finds the routes of a path. Fixed segments precede parameters, which match no empty segment.
// One that takes the rest of the path matches any; routes below it take off the last segment.
import type { Route } from './route.ts';

/** The routes of a path by method (GET serves HEAD too), and the value of the `allow` header. */
export interface PathItem {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  readonly allow: string;
}

class Node {
  /** By their segments; that of a parameter is at `undefined`. */
  readonly children = new Map<string | undefined, Node>();
  pathItem: PathItem | undefined;
  takesRest = false;
}

/** Finds the routes of a path. */
export class Router {
  readonly #root = new Node();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const node = route.template.split('/').slice(1).reduce(childOf, this.#root);
      const methods = new Map(node.pathItem?.methods);
      methods.set(route.method, route);
      if (route.method === 'GET') methods.set('HEAD', route);
      node.pathItem = pathItemOf(route.template, methods);
      if (route.takesRest) node.takesRest = true;
    }
  }

  /** Returns the item of a path, given as decoded segments, and the values of its parameters. */
  find(segments: readonly string[], method = 'GET') {
    const values: string[] = [];
    let node = this.#root;
    let depth = 0;
    for (const segment of segments) {
      const fixed = node.children.get(segment);
      const next = fixed ?? node.children.get(undefined);
      if (!fixed && next?.takesRest) return findRest(next, segments.slice(depth), method);
      if (!next || (!fixed && segment === '')) return undefined;
      if (!fixed) values.push(segment);
      node = next;
      depth += 1;
    }
    return node.pathItem && { pathItem: node.pathItem, values };
  }
}

/** Finds the routes where a parameter takes the rest of a path. */
function findRest({ pathItem, children }: Node, segments: readonly string[], method: string) {
  const rest = segments.join('/');
  const end = rest.lastIndexOf('/');
  const below = end < 0 ? undefined : children.get(rest.slice(end + 1))?.pathItem;
  if (below?.methods.has(method)) return { pathItem: below, values: [rest.slice(0, end)] };
  if (!pathItem || !below) return pathItem && { pathItem, values: [rest] };
  const methods = new Map([...pathItem.methods, ...below.methods]);
  return { pathItem: pathItemOf(pathItem.template, methods), values: [rest] };
}

function pathItemOf(template: string, methods: PathItem['methods']): PathItem {
  return { template, methods, allow: [...methods.keys(), 'OPTIONS'].join(', ') };
}

function childOf(node: Node, segment: string): Node {
  const key = segment.startsWith('{') ? undefined : segment;
  const child = node.children.get(key) ?? new Node();
  node.children.set(key, child);
  return child;
}
