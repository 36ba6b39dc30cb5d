// Where the records of a list come from, in SQL: the tables, the conditions and the counts. Records
// are found through the search index, through a link, or by a walk of all.
import type { Link, Resource } from '../../resources/resource.ts';
import { linkOf, type ResourceLink } from '../../resources/resources.ts';
import { ownerExistsSql } from '../records/text.ts';
import { searchOf } from './members.ts';
import type { Shape } from './request.ts';

/** Returns the SQL of an expression, given the name of a value of the request. */
export type Value = (name: string) => string;

/** The name of the first of `linkedTo`. */
const FIRST_LINK = 'links[0]';

/** A way to find the records of a list. */
export interface Source {
  /** The FROM clause that gives the columns of the records. */
  readonly from: string;
  /** A FROM clause that gives only the ids. */
  readonly ids: string;
  /** The SQL of the id. */
  readonly id: string;
  /** The SQL of the conditions. */
  readonly where: string;
}

/** A source with the SQL of its key, and of whether it is the one that gives the records. */
export interface KeyedSource extends Source {
  readonly key: string;
  readonly isChosen: string;
}

/** Counts of the records of a list in each block of ids. */
export interface Blocks {
  readonly table: string;
  readonly where: string;
}

/** The records of the list of one request. */
export class ListSource {
  readonly #resource: Resource;
  readonly #shape: Shape;
  readonly #value: Value;
  readonly #link: ResourceLink | undefined;

  constructor(resource: Resource, shape: Shape, value: Value) {
    this.#resource = resource;
    this.#shape = shape;
    this.#value = value;
    this.#link = linkOf(resource);
  }

  /** Returns the only source, or the first of two. */
  first(): Source {
    const { table } = this.#resource;
    const { links, isSearch } = this.#shape;
    if (isSearch) {
      const search = searchOf(this.#resource);
      const match = `${search.table} MATCH ${this.#value('match')}`;
      return this.#joined(search.table, `${search.table}.rowid`, match, links > 0);
    }
    if (links > 0 && this.#link) {
      const { link, own, other } = this.#link;
      const linked = links > 1 ? this.#rarest(link) : this.#value(FIRST_LINK);
      const isLinked = `${link.table}.${other.column} = ${linked}`;
      return this.#joined(link.table, `${link.table}.${own.column}`, isLinked, links > 1);
    }
    return this.#walk(table);
  }

  /**
   * Returns the sources. Linked records in the order of changes have two: they are sorted if they
   * are `few` (SQL), or else picked from all records in that order.
   */
  each(few: string): KeyedSource[] {
    const { order } = this.#shape;
    const { table } = this.#resource;
    const source = this.first();
    const key = order.endsWith('id') ? source.id : `${table}.number`;
    if (!this.hasTwo) return [{ ...source, key, isChosen: 'TRUE' }];
    const walk = this.#walk(`${table} INDEXED BY ${table}_by_number`);
    return [
      { ...source, key, isChosen: few },
      { ...walk, key, isChosen: `NOT ${few}` },
    ];
  }

  get hasTwo(): boolean {
    const { order, links, isSearch } = this.#shape;
    return order.endsWith('updated') && links > 0 && !isSearch && (this.#link?.isFirst ?? false);
  }

  /** Returns the SQL of the number of records in the whole list. */
  total(): string {
    const blocks = this.blocks();
    if (!blocks) {
      const { ids, where } = this.first();
      return `SELECT count(*) FROM ${ids} WHERE ${where}`;
    }
    return blocks.where === 'TRUE' ? 'SELECT total FROM everything' : totalSql(blocks);
  }

  /** Returns the block counts of the list; undefined if none are kept for it. */
  blocks(): Blocks | undefined {
    const { blocks: table, owner } = this.#resource;
    const { links, isUnlinked, equal, isSearch } = this.#shape;
    if (isUnlinked || isSearch || equal.length > 0 || links > 1) return undefined;
    if (links === 1) return this.linkedBlocks();
    return { table, where: owner ? `${owner.column} = ${this.#value('owner')}` : 'TRUE' };
  }

  /** Returns the counts of the records linked to the first of `linkedTo`, if any are kept. */
  linkedBlocks(): Blocks | undefined {
    if (!this.#link?.isFirst) return undefined;
    const { link, other } = this.#link;
    return { table: link.blocks, where: `${other.column} = ${this.#value(FIRST_LINK)}` };
  }

  /** Returns the SQL of whether the record that the list belongs to exists. */
  exists(): string {
    if (!this.#shape.isOfLinked) return ownerExistsSql(this.#resource, this.#value('owner'));
    const { table } = this.#link?.other.resource ?? this.#resource;
    return `EXISTS (SELECT 1 FROM ${table} WHERE id = ${this.#value(FIRST_LINK)})`;
  }

  /** Returns the SQL of the one of `linkedTo` to which the fewest records are linked. */
  #rarest({ blocks, ends: [, { column }] }: Link): string {
    return `
      (SELECT wanted.value FROM json_each(${this.#value('links')}) AS wanted
       LEFT JOIN ${blocks} ON ${column} = wanted.value
       GROUP BY wanted.value ORDER BY coalesce(sum(count), 0) LIMIT 1)`;
  }

  /** Returns the source that finds ids in another table. */
  #joined(table: string, id: string, condition: string, testsLinks: boolean): Source {
    const records = this.#resource.table;
    const from = `${table} CROSS JOIN ${records} ON ${records}.id = ${id}`;
    const where = [condition, ...this.#conditions(id, testsLinks)].join(' AND ');
    return { from, ids: this.#shape.equal.length > 0 ? from : table, id, where };
  }

  #walk(from: string): Source {
    const { table } = this.#resource;
    const id = `${table}.id`;
    const where = this.#conditions(id, this.#shape.links > 0).join(' AND ') || 'TRUE';
    return { from, ids: table, id, where };
  }

  #conditions(id: string, testsLinks: boolean): string[] {
    const { owner, table } = this.#resource;
    const { isOne, isUnlinked, equal, links } = this.#shape;
    const conditions: string[] = [];
    if (owner) conditions.push(`${table}.${owner.column} = ${this.#value('owner')}`);
    if (isOne) conditions.push(`${table}.id = ${this.#value('id')}`);
    for (const field of equal)
      conditions.push(`${table}.${field} = ${this.#value(`equal.${field}`)}`);
    if (!this.#link) return conditions;
    const { link, own, other } = this.#link;
    const ownLinks = `SELECT 1 FROM ${link.table} AS each WHERE each.${own.column} = ${id}`;
    const isLinkedTo = (otherId: string) =>
      `EXISTS (${ownLinks} AND each.${other.column} = ${otherId})`;
    if (isUnlinked) conditions.push(`NOT EXISTS (${ownLinks})`);
    if (testsLinks)
      conditions.push(
        links === 1
          ? isLinkedTo(this.#value(FIRST_LINK))
          : `NOT EXISTS (SELECT 1 FROM json_each(${this.#value('links')}) AS wanted
               WHERE NOT ${isLinkedTo('wanted.value')})`,
      );
    return conditions;
  }
}

/** Returns the SQL of a sum of block counts. */
export function totalSql({ table, where }: Blocks): string {
  return `SELECT coalesce(sum(count), 0) AS total FROM ${table} WHERE ${where}`;
}
