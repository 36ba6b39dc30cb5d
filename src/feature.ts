// What a part of the service adds to the core, behind one door: without its folder and its line in
// app.ts, the rest works.
import type { Ending, Sender } from './http/exchange.ts';
import type { Bases } from './http/paths.ts';
import type { Problem } from './http/problem.ts';
import type { Mend, Route } from './http/route.ts';
import type { FilterValue, ListExtension, Parameters } from './list-extension.ts';
import type { Resource } from './resources/resource.ts';
import type { BatchMeter } from './storage/batcher.ts';
import type { Database } from './storage/database.ts';
import type { CommitObserver, Memory, Write } from './storage/writer.ts';

/** Who measures the batches of each kind. */
type Meters = Readonly<Record<'read' | 'page' | 'write', BatchMeter>>;

/** The place of each client for one export. */
export interface Places {
  /** Resolves with false if it is taken. */
  take(client: string): Promise<boolean>;
  free(client: string): Promise<void>;
}

/** What the core gives to features. */
export interface Core {
  readonly database: Database;
  readonly memory: Memory;
  readonly write: Write;
  readonly meters: Meters | undefined;
  /** Resolves with whether this process alone may do the work; undefined if there is no other. */
  readonly takeWork?: ((work: string) => Promise<boolean>) | undefined;
}

/** Functions that read the current values of metrics. A number is the value without labels. */
export type Readings = Readonly<Record<string, () => number | Series | Promise<number | Series>>>;

/** The values of a metric by what follows its name in the text, such as `_sum{batch="read"}`. */
export type Series = Record<string, number>;

/** What a request selects of the records of a resource, as their lists would. */
export interface Selection {
  /** Each with the SQL of its value. */
  readonly members: readonly {
    readonly name: string;
    readonly sql: string;
  }[];
  /** The values of the filters that it uses. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Returns the SQL conditions for the record with an id, given the SQL of values by name. */
  readonly conditions: (id: string, valueAt: (name: string) => FilterValue) => readonly string[];
}

/** Returns what parameters select, as those of a list. May throw 422. */
export type Selects = (
  resource: Resource,
  parameters: Parameters & Readonly<Partial<Record<'fields' | 'include', readonly string[]>>>,
) => Selection;

/** What all features give together. */
export interface Together {
  readonly selects?: Selects | undefined;
  readonly routes: () => readonly Route[];
  readonly readings: Readings;
}

/** What a feature adds; each member may be missing. */
export interface Feature {
  /** Returns its routes, when the URLs of the service are known. */
  readonly routes?: (bases: Bases, all: Together) => readonly Route[];
  readonly inLists?: ListExtension;
  /** Only one feature gives it. */
  readonly selects?: Selects;
  readonly onArrival?: () => void;
  /** Called when a request has ended, answered or not, or when its stream has begun or ended. */
  readonly onEnd?: (ending: Ending) => void;
  readonly mend?: Mend;
  /** Called for malformed or late input that was refused. */
  readonly onRefused?: (requestId: string, problem: Problem, sender: Sender) => void;
  /** Called when the keys of clients have changed. */
  readonly onKeysChanged?: () => void;
  /** What /metrics says of the feature. */
  readonly readings?: Readings;
  /** Returns the problem for an error of the feature; undefined for any other error. */
  readonly toProblem?: (error: unknown) => Problem | undefined;
  /** Called first at a stop: ends what would otherwise wait. */
  readonly stop?: () => void;
  /** Called after the last answer: releases what the feature holds. */
  readonly close?: () => void | Promise<void>;
}

/** A feature that needs no {@link Core}, but gives something to it. */
export interface EarlyFeature extends Feature {
  /** What keeps records and pages. Only one feature gives it; the same holds for `meters`. */
  readonly memory?: Memory;
  readonly meters?: Meters;
  readonly commits?: CommitObserver | readonly CommitObserver[];
  /** Begins its work in the background, once there is a core. */
  readonly start?: (core: Core) => void;
}
