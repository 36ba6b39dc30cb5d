// Finds the routes of a path. Fixed segments precede parameters, which match no empty segment.
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
      const allow = [...methods.keys(), 'OPTIONS'].join(', ');
      node.pathItem = { template: route.template, methods, allow };
    }
  }

  /** Returns the item of a path, given as decoded segments, and the values of its parameters. */
  find(segments: readonly string[]) {
    const values: string[] = [];
    let node = this.#root;
    for (const segment of segments) {
      const fixed = node.children.get(segment);
      const next = fixed ?? (segment === '' ? undefined : node.children.get(undefined));
      if (!next) return undefined;
      if (!fixed) values.push(segment);
      node = next;
    }
    return node.pathItem && { pathItem: node.pathItem, values };
  }
}

function childOf(node: Node, segment: string): Node {
  const key = segment.startsWith('{') ? undefined : segment;
  const child = node.children.get(key) ?? new Node();
  node.children.set(key, child);
  return child;
}
