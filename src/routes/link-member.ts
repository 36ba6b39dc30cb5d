// The member of a body that sets the links of a record, such as `tag_ids` of a note.
import { validationFailed } from '../contract/endpoint.ts';
import type { BodyFormat } from '../http/body/formats.ts';
import type { Violation } from '../http/problem.ts';
import type { Link } from '../resources/resource.ts';
import type { NewLink, Values } from '../storage/batches/writer.ts';
import type { Condition } from '../storage/records/condition.ts';
import type { LinkedTable, NoSuchEnds } from '../storage/records/linked-writes.ts';
import type { Created, CreatedOnce, Once, Stored } from '../storage/records/writes.ts';

type Members = Readonly<Record<string, unknown>>;

/** The writes of records whose bodies have the member. They throw 422 for an unknown id. */
export class LinkMember {
  readonly #link: Link;
  readonly #table: LinkedTable;

  constructor(link: Link, table: LinkedTable) {
    this.#link = link;
    this.#table = table;
  }

  /** Whether a body has the member. */
  isIn(body: Members): boolean {
    return body[this.#link.member] !== undefined;
  }

  /** Stores records with the links that their bodies list. */
  async create(
    records: readonly Values[],
    bodies: readonly Members[],
    format: BodyFormat,
    once?: Once,
    owner?: number,
  ): Promise<Created | CreatedOnce | undefined> {
    const created = await this.#table.create(records, this.#linksOf(bodies), once, owner);
    return this.#accept(created, bodies, format);
  }

  /** Changes a record as `patch` of its table does, and sets the links that the body lists. */
  async change(
    id: number,
    values: Values,
    body: Members,
    owner?: number,
    condition?: Condition,
  ): Promise<Stored | undefined> {
    const links = this.#linksOf([body]);
    const changed = await this.#table.change(id, values, links, owner, condition);
    return this.#accept(changed, [body], 'json');
  }

  #linksOf(bodies: readonly Members[]): NewLink[] {
    return bodies.flatMap((body, row) => this.#idsIn(body).map((id): NewLink => [row, id]));
  }

  #idsIn(body: Members): readonly number[] {
    return (body[this.#link.member] ?? []) as readonly number[];
  }

  #accept<Outcome extends object>(
    outcome: Outcome | NoSuchEnds | undefined,
    bodies: readonly Members[],
    format: BodyFormat,
  ): Outcome | undefined {
    if (!outcome || !('missing' in outcome)) return outcome;
    const paths = bodies.flatMap((body, row) =>
      this.#idsIn(body).map((_, index) => {
        const path = [this.#link.member, index];
        return format === 'lines' ? [row, ...path] : path;
      }),
    );
    throw validationFailed(outcome.missing.map((position) => this.#violation(paths[position])));
  }

  #violation(path: readonly (string | number)[] = []): Violation {
    return {
      field: path.join('.'),
      in: 'body',
      pointer: ['#', ...path].join('/'),
      code: 'exists',
      detail: `must be the id of a ${this.#link.ends[1].resource.label.toLowerCase()}`,
    };
  }
}
