// The types of generated.js, which src/build/contract.ts generates from schemas/openapi.json.
import type { ProblemSlug } from '../http/problem.ts';

/** A compiled schema. `errors` belongs to the last call that returned false. */
export interface Validate {
  (value: unknown): boolean;
  errors?: readonly SchemaError[] | null;
}

/** A violated rule, as Ajv reports it. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly isInteger: boolean;
  /** Whether it may be repeated, and whether commas separate values, too. */
  readonly isList: boolean;
  readonly hasCommas: boolean;
  readonly default?: number | string;
  /** Describes a valid value, if the schema has a pattern. */
  readonly rule?: string;
  readonly validate: Validate;
}

/** The validators of a body: one stops at the first violation, the other collects all. */
export interface BodyValidators {
  readonly validate: Validate;
  readonly validateFully: Validate;
}

export interface Body extends BodyValidators {
  /** The names of the members, also of those in lines. */
  readonly members: readonly string[];
  /** The names of members that only answers have. */
  readonly ignored: readonly string[];
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly types: readonly string[];
  /** The array of the values of a body of JSON lines, and how many there may be. */
  readonly lines?: BodyValidators & { readonly maxItems: number };
}

export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly template: string;
  /** The parameters that a query may have; undefined if others are ignored. */
  readonly queryNames?: readonly string[];
  /** Path parameters first, in the order of the template. */
  readonly parameters: readonly Parameter[];
  /** `name` is in lower case, `rule` describes a valid value. */
  readonly headers: readonly Readonly<{ name: string; rule: string; validate: Validate }>[];
  readonly body?: Body;
}

/** What a problem type means, how to solve it (with code between backticks), and an example. */
export interface ProblemType {
  readonly slug: ProblemSlug;
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
  readonly example: Readonly<Record<string, unknown>>;
}

/** In the order of the contract. */
export const operations: readonly Operation[];

/** In the order of their status. */
export const problems: readonly ProblemType[];

/** The greatest length of a snippet, in code points. */
export const MAX_SNIPPET_LENGTH: number;

/** The greatest length of the body of a note, in code points. */
export const MAX_BODY_LENGTH: number;

/** The greatest length of the title of a note, in code points. */
export const MAX_TITLE_LENGTH: number;

/** The greatest length of the name of a note, in code points. */
export const MAX_NAME_LENGTH: number;

/** How many tags a list of notes may be filtered by, whether by id or by name. */
export const MAX_TAG_FILTERS: number;

/** The bounds that no schema can express: of searches, of all lines together, and of edits. */
export const BOUNDS: Record<'words' | 'terms' | 'prefixes' | 'tags' | 'repetitions', number>;
