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

  /** Finds the item of the path that the segments from `index` on complete. */
  find(segments: readonly string[], index: number, values: string[]): PathItem | undefined {
    const segment = segments[index];
    if (segment === undefined) return this.pathItem;
    const found = this.fixed.get(segment)?.find(segments, index + 1, values);
    if (found || !this.parameter || segment === '') return found;
    values.push(segment);
    const below = this.parameter.find(segments, index + 1, values);
    if (!below) values.pop();
    return below;
  }
}

/** Finds the routes of a path. Throws if two of them have the same method and path. */
export class Router {
  readonly #root = new Node();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const node = route.template.split('/').slice(1).reduce(childOf, this.#root);
      const methods = new Map(node.pathItem?.methods);
      if (methods.has(route.method))
        throw new Error(`two routes for ${route.method} ${route.template}`);
      methods.set(route.method, route);
      if (route.method === 'GET') methods.set('HEAD', route);
      const allow = [...methods.keys(), 'OPTIONS'].join(', ');
      node.pathItem = { template: route.template, methods, allow };
    }
  }

  /** Returns the item of a path, given as decoded segments, and the values of its parameters. */
  find(segments: readonly string[]) {
    const values: string[] = [];
    const pathItem = this.#root.find(segments, 0, values);
    return pathItem && { pathItem, values };
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
