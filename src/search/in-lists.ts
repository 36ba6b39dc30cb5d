// What the search adds to lists: the words to find, the order of the best matches, and snippets.
import { validationFailed } from '../contract/endpoint.ts';
import { BOUNDS } from '../contract/generated.js';
import type { Violation } from '../http/problem.ts';
import type { Computed, Filter, ListExtension, Parameters } from '../list-extension.ts';
import type { Resource } from '../resources/resource.ts';
import { tagSql } from '../storage/numbers.ts';
import { parseQuery, type Query } from './query.ts';
import type { SearchIndex } from './search-index.ts';
import { makeSnippets } from './snippets.ts';

/** Its snippets are the beginnings of texts. */
const NO_WORDS = { needles: [] };

/** Returns what lists have of the search; they wait until these indexes have caught up. */
export function searchInLists(indexes: ReadonlyMap<Resource, SearchIndex>): ListExtension {
  return (resource) => {
    if (!resource.search) return {};
    const { table, position, weights } = resource.search;
    const fields = Object.keys(weights);
    const match: Filter = {
      value: ({ q, match }) => (q === undefined ? undefined : queryOf(q, match).match),
      source: {
        table,
        id: `${table}.rowid`,
        where: (value) => `${table} MATCH ${value()}`,
        keys: ['id'],
      },
      index: {
        state: `SELECT ${tagSql('iif(id IS NULL, number, 0)', '.')} FROM ${position}`,
        catchUp: () => indexes.get(resource)?.catchUp(),
      },
    };
    const score = `bm25(${[table, ...Object.values(weights)].join(', ')})`;
    const computed: Computed = {
      name: 'snippet',
      fields,
      compute: (records, { q, match }, check) =>
        makeSnippets(records, fields, q === undefined ? NO_WORDS : queryOf(q, match), check),
    };
    return {
      filters: { match },
      orders: { rank: { score, impliedBy: 'q' } },
      computed,
      check: checkMatch,
      alternative: prefixSearch,
    };
  };
}

/** Returns what these parameters ask for. Throws 422. */
function queryOf(q: unknown, match: unknown): Query {
  const query = parseQuery(String(q), BOUNDS, match === 'prefix');
  if (!('fault' in query)) return query;
  throw validationFailed([{ field: 'q', in: 'query', code: 'words', detail: query.fault }]);
}

function checkMatch({ q, match }: Parameters): Violation | undefined {
  if (q !== undefined || match === undefined) return undefined;
  const detail = 'must not be prefix without q';
  return { field: 'match', in: 'query', code: 'dependentRequired', detail };
}

/** Returns the parameter with which a search for whole words may find more. */
function prefixSearch({ q, match }: Parameters): string | undefined {
  if (q === undefined || match !== undefined) return undefined;
  return 'fault' in parseQuery(String(q), BOUNDS, true) ? undefined : 'match=prefix';
}
