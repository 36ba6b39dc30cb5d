// The lists of all resources, and single records with other members than their own.
import { countCharacters, sliceCharacters } from '../characters.ts';
import { validationFailed } from '../contract/endpoint.ts';
import type { Core, Feature, Selects } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { RecordFeature } from '../records/feature.ts';
import type { ReadChosen } from '../records/route.ts';
import type { Choice } from '../records/text.ts';
import type { Stored } from '../records/writes.ts';
import { RESOURCES } from '../resources/resources.ts';
import { AnswerTooLarge, ReadTooSlow } from '../storage/database.ts';
import { PAGES } from '../storage/writer.ts';
import { Pages } from './pages.ts';
import { filterValues, membersIn, partsOf } from './parts.ts';
import { listRoutes } from './route.ts';
import { SlowReads } from './slow-reads.ts';

/** A shared instance: stack traces are too expensive for an overloaded service. */
const TOO_SLOW = unavailable('The list takes too long to find. Ask for less, or try again later.');
const TOO_LARGE = unavailable('The answer would be too large. Ask for less.');

/** Returns the queue of slow reads. All lists share it, so that they have one limit. */
export function createSlowReads({ database, meters }: Core): SlowReads {
  return new SlowReads(meters?.page, database.patienceMs);
}

/** The lists, with what other features add to them. */
export function lists(
  { database, memory, meters }: Core,
  features: readonly Feature[],
  slow: SlowReads,
): RecordFeature {
  const extensions = features.flatMap(({ inLists = [] }) => inLists);
  const all = RESOURCES.map((resource) => {
    const parts = partsOf(resource, extensions);
    return new Pages(parts, database, memory, meters?.page, slow);
  });
  const selects: Selects = (resource, { fields = [], include = [], ...parameters }) => {
    const parts = all.find((pages) => pages.parts.resource === resource)?.parts;
    if (!parts) throw new Error(`${resource.label} has no list`);
    const values = filterValues(parts.filters, parameters);
    return {
      members: membersIn(parts, { fields, include }),
      values,
      conditions: (id, valueAt) =>
        Object.keys(values).flatMap(
          (name) => parts.filters[name]?.condition?.(id, valueAt(name)) ?? [],
        ),
    };
  };
  const readChosen: ReadChosen = (resource, key, choice) => {
    const name = JSON.stringify([resource.table, key, choice]);
    const known = memory.find<Stored>(PAGES, name);
    if (known) return known;
    const pages = all.find(({ parts }) => parts.resource === resource);
    const isMeasured = choice.fields.length > 0 && choice.include.includes('characters');
    const fields = isMeasured ? [...choice.fields, 'body'] : choice.fields;
    return pages?.read({ limit: 1, ...key, ...choice, fields }).then((page) => {
      if (!page?.items) return undefined;
      const record = { text: cutBody(String(page.items), choice), tag: page.tag };
      memory.keep(page.revision, PAGES, [[name, record]]);
      return record;
    });
  };
  return {
    readChosen,
    selects,
    routes: (bases) => all.flatMap((pages) => listRoutes({ pages, memory, bases })),
    toProblem(error) {
      if (error instanceof ReadTooSlow) return TOO_SLOW;
      return error instanceof AnswerTooLarge ? TOO_LARGE : undefined;
    },
  };
}

/** Returns the JSON text of a record with the part of its body that is wanted. Throws 422. */
function cutBody(text: string, { fields, include, body_offset, body_limit }: Choice): string {
  const isMeasured = include.includes('characters');
  if (!isMeasured && (body_offset ?? body_limit) === undefined) return text;
  const { body, ...record } = JSON.parse(text);
  if (body === undefined) return text;
  const characters = countCharacters(body);
  const start = body_offset ?? 0;
  if (start > characters) {
    const detail = `must be at most ${characters}, the number of characters of the body`;
    throw validationFailed([{ field: 'body_offset', in: 'query', code: 'maximum', detail }]);
  }
  const part = sliceCharacters(body, start, body_limit ?? body.length);
  const hasBody = fields.length === 0 || fields.includes('body');
  const added = { ...(isMeasured && { characters }), ...(hasBody && { body: part }) };
  return JSON.stringify({ ...record, ...added });
}
