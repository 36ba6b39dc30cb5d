// The paths of records, and the answer for a path without a record.
import { Problem } from '../http/problem.ts';

/** The ids in a path by the names of its parameters. */
export type Ids = Readonly<Record<string, number>>;

/** Replaces the parameters of a path template with their values. */
export function fillTemplate(template: string, ids: Ids): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
}

/** Returns the 404 for a record, with its id in the form that was sent. */
export function notFound(label: string, sent: string | undefined): Problem {
  return new Problem('not-found', `${label} with ID ${sent} was not found.`);
}
