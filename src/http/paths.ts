// The URLs and paths under which clients reach the service and its records.
import { Problem } from './problem.ts';

/** The URLs of the service and of its problem pages; without a slash at the end. */
export interface Bases {
  readonly baseUrl: string;
  readonly problemBase: string;
}

/** The ids in a path by the names of its parameters. */
export type Ids = Readonly<Record<string, number>>;

/** Returns the path of the base URL; empty unless a proxy serves the service below a path. */
export function basePath({ baseUrl }: Bases): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

/** Replaces the parameters of a path template with their values. */
export function fillTemplate(template: string, ids: Ids): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
}

/** Returns the 404 for a record, with its id in the form that was sent. */
export function notFound(label: string, sent: string | undefined): Problem {
  return new Problem('not-found', `${label} with ID ${sent} was not found.`);
}
