// Finds the routes of a path. Fixed segments precede parameters, which match no empty segment.
import type { Route } from './route.ts';

/** The routes of a path by method (GET serves HEAD too), and the value of the `allow` header. */
export interface PathItem {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  readonly allow: string;
}

class Node {
  readonly fixed = new Map<string, Node>();
  parameter: Node | undefined;
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
      const fixed = node.fixed.get(segment);
      const next = fixed ?? (segment === '' ? undefined : node.parameter);
      if (!next) return undefined;
      if (!fixed) values.push(segment);
      node = next;
    }
    return node.pathItem && { pathItem: node.pathItem, values };
  }
}

function childOf(node: Node, segment: string): Node {
  if (segment.startsWith('{')) {
    node.parameter ??= new Node();
    return node.parameter;
  }
  const child = node.fixed.get(segment) ?? new Node();
  node.fixed.set(segment, child);
  return child;
}
