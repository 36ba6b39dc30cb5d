// What is done with a path, by the states of both sides since they were last in step.

/** A file: missing, as it was, a new text, white space only, or what can be no note. */
export type HereKind = 'none' | 'same' | 'new' | 'blank' | 'bad';

/** A note: missing, as it was, or with another text. */
export type ThereKind = 'none' | 'same' | 'new';

export type Action =
  | 'none'
  | 'forget'
  | 'adopt'
  | 'create'
  | 'send'
  | 'get'
  | 'delete here'
  | 'delete there'
  | 'conflict'
  | 'leave'
  /** Both texts are new, and it must be found out whether they are equal. */
  | 'compare';

type Row = Readonly<Record<ThereKind, Action>>;

const KNOWN: Readonly<Record<HereKind, Row>> = {
  none: { none: 'forget', same: 'delete there', new: 'get' },
  same: { none: 'delete here', same: 'none', new: 'get' },
  new: { none: 'create', same: 'send', new: 'compare' },
  blank: { none: 'forget', same: 'leave', new: 'get' },
  bad: { none: 'leave', same: 'leave', new: 'leave' },
};

/** Without a base, nothing is as it was. */
const UNKNOWN: Readonly<Record<HereKind, Row>> = {
  none: { none: 'forget', same: 'get', new: 'get' },
  same: { none: 'create', same: 'compare', new: 'compare' },
  new: { none: 'create', same: 'compare', new: 'compare' },
  blank: { none: 'leave', same: 'get', new: 'get' },
  bad: { none: 'leave', same: 'leave', new: 'leave' },
};

/** What the sides of a path are; `areEqual` is undefined if it is not known. */
export interface Sides {
  readonly isKnown: boolean;
  readonly here: HereKind;
  readonly there: ThereKind;
  readonly areEqual?: boolean | undefined;
}

/** Returns what is done. A deletion must be checked a second time, before it is carried out. */
export function decide({ isKnown, here, there, areEqual }: Sides): Action {
  const action = (isKnown ? KNOWN : UNKNOWN)[here][there];
  if (action !== 'compare' || areEqual === undefined) return action;
  return areEqual ? 'adopt' : 'conflict';
}
