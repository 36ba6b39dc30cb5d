// Finds what exists at a path. The routes form a tree of segments; a fixed segment precedes a
// parameter.

/** What the router needs to know of a route. A template is a path such as `/notes/{note_id}`. */
export interface Routable {
  readonly method: string;
  readonly template: string;
}

/** What exists at a path: the routes by method (HEAD is added to GET), and the value of `allow`. */
export interface Place<Route> {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  readonly allow: string;
}

/** A place and the values of its path parameters, in the order of the template. */
export interface Match<Route> {
  readonly place: Place<Route>;
  readonly values: readonly string[];
}

/**
 * Returns what exists at a path, which is given as decoded segments; undefined if there is nothing.
 */
export type Router<Route> = (segments: readonly string[]) => Match<Route> | undefined;

interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>;
  parameter: Node<Route> | undefined;
  place: Place<Route> | undefined;
}

/** Returns the router of `routes`. Throws if two of them have the same method and path. */
export function createRouter<Route extends Routable>(routes: readonly Route[]): Router<Route> {
  const root = emptyNode<Route>();
  for (const route of routes) {
    const node = segmentsOf(route.template).reduce(childOf<Route>, root);
    const methods = new Map(node.place?.methods);
    if (methods.has(route.method))
      throw new Error(`two routes for ${route.method} ${route.template}`);
    methods.set(route.method, route);
    if (route.method === 'GET') methods.set('HEAD', route);
    node.place = {
      template: route.template,
      methods,
      allow: [...methods.keys(), 'OPTIONS'].join(', '),
    };
  }

  return (segments) => {
    const values: string[] = [];
    const place = find(root, segments, 0, values);
    return place && { place, values };
  };
}

/** Returns the place below `node` and collects the values of parameters on the way. */
function find<Route>(
  node: Node<Route>,
  segments: readonly string[],
  index: number,
  values: string[],
): Place<Route> | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.place;
  const fixed = node.fixed.get(segment);
  const found = fixed && find(fixed, segments, index + 1, values);
  if (found || !node.parameter || segment === '') return found;
  values.push(segment);
  const below = find(node.parameter, segments, index + 1, values);
  if (!below) values.pop();
  return below;
}

/** Returns the child of `node` for a segment; adds it if it is missing. */
function childOf<Route>(node: Node<Route>, segment: string): Node<Route> {
  if (isParameter(segment)) {
    node.parameter ??= emptyNode();
    return node.parameter;
  }
  const known = node.fixed.get(segment) ?? emptyNode<Route>();
  node.fixed.set(segment, known);
  return known;
}

function emptyNode<Route>(): Node<Route> {
  return { fixed: new Map(), parameter: undefined, place: undefined };
}

function segmentsOf(template: string): string[] {
  return template.split('/').slice(1);
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
