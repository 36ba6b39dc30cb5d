// The URLs under which clients reach the service, in links, locations and the types of problems.

/** The URLs of the service and of its problem pages; without a slash at the end. */
export interface Bases {
  readonly baseUrl: string;
  readonly problemBase: string;
}

/** Returns the path of the base URL; empty unless a proxy serves the service below a path. */
export function basePath({ baseUrl }: Bases): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}
