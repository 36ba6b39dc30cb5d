// Finds the routes of a path in a tree of segments. A fixed segment takes precedence over a
// parameter, and a parameter never matches an empty segment.

/** The part of a route that the router reads. A template is a path such as `/notes/{note_id}`. */
export interface Routable {
  readonly method: string;
  readonly template: string;
}

/** The routes of a path by method (GET serves HEAD too), and the value of the `allow` header. */
export interface PathItem<Route> {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  readonly allow: string;
}

/** A path item and the values of its path parameters, in the order of the template. */
export interface Match<Route> {
  readonly pathItem: PathItem<Route>;
  readonly values: readonly string[];
}

/** Finds the item of a path, given as decoded segments; returns undefined if there is none. */
export type Router<Route> = (segments: readonly string[]) => Match<Route> | undefined;

interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>;
  parameter: Node<Route> | undefined;
  pathItem: PathItem<Route> | undefined;
}

/** Returns the router of `routes`. Throws if two of them have the same method and path. */
export function createRouter<Route extends Routable>(routes: readonly Route[]): Router<Route> {
  const root = emptyNode<Route>();
  for (const route of routes) {
    const node = route.template
      .split('/')
      .slice(1)
      .reduce(childOf<Route>, root);
    const methods = new Map(node.pathItem?.methods);
    if (methods.has(route.method))
      throw new Error(`two routes for ${route.method} ${route.template}`);
    methods.set(route.method, route);
    if (route.method === 'GET') methods.set('HEAD', route);
    const allow = [...methods.keys(), 'OPTIONS'].join(', ');
    node.pathItem = { template: route.template, methods, allow };
  }

  return function findPath(segments) {
    const values: string[] = [];
    const pathItem = find(root, segments, 0, values);
    return pathItem && { pathItem, values };
  };
}

/** Finds the item for `segments` from `index` on, below `node`; adds parameters to `values`. */
function find<Route>(
  node: Node<Route>,
  segments: readonly string[],
  index: number,
  values: string[],
): PathItem<Route> | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.pathItem;
  const fixed = node.fixed.get(segment);
  const found = fixed && find(fixed, segments, index + 1, values);
  if (found || !node.parameter || segment === '') return found;
  values.push(segment);
  const below = find(node.parameter, segments, index + 1, values);
  if (!below) values.pop();
  return below;
}

/** Returns the child of `node` for a segment of a template; adds it if it is missing. */
function childOf<Route>(node: Node<Route>, segment: string): Node<Route> {
  if (segment.startsWith('{')) {
    node.parameter ??= emptyNode();
    return node.parameter;
  }
  const child = node.fixed.get(segment) ?? emptyNode<Route>();
  node.fixed.set(segment, child);
  return child;
}

function emptyNode<Route>(): Node<Route> {
  return { fixed: new Map(), parameter: undefined, pathItem: undefined };
}
