// Finds the route for a path: a tree of segments, in which fixed ones come before parameters.

/** What the router needs of a route: its method and its path template, as in `/notes/{note_id}`. */
export interface Routable {
  readonly method: string;
  readonly template: string;
}

/** What exists at a path: its template, its routes by method (HEAD wherever GET is), and its `allow` header. */
export interface Place<Route> {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  readonly allow: string;
}

/** A place and the values of its parameters, decoded, in the order of the template. */
export interface Match<Route> {
  readonly place: Place<Route>;
  readonly values: readonly string[];
}

/** Returns what exists at a path, given as its decoded segments, or undefined (404). */
export type Router<Route> = (segments: readonly string[]) => Match<Route> | undefined;

interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>;
  parameter: Node<Route> | undefined;
  place: Place<Route> | undefined;
}

/** Returns the router for `routes`. Throws if two of them share a method and a path. */
export function createRouter<Route extends Routable>(routes: readonly Route[]): Router<Route> {
  const root = emptyNode<Route>();
  for (const route of routes) {
    const node = segmentsOf(route.template).reduce(child<Route>, root);
    const methods = new Map(node.place?.methods);
    if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.template}`);
    methods.set(route.method, route);
    if (route.method === 'GET') methods.set('HEAD', route);
    node.place = { template: route.template, methods, allow: [...methods.keys(), 'OPTIONS'].join(', ') };
  }

  return (segments) => {
    const values: string[] = [];
    const place = find(root, segments, 0, values);
    return place && { place, values };
  };
}

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

function child<Route>(node: Node<Route>, segment: string): Node<Route> {
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
