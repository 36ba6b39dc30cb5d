// The types of generated.js, which the build makes from schemas/openapi.json (see compile.ts).

/** A compiled schema. After a call that returned false, `errors` says what was wrong. */
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

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  /** Integers are parsed by the strict grammar of parameters.ts before they are validated; other types are text. */
  readonly isInteger: boolean;
  readonly default?: number;
  readonly validate: Validate;
}

/** The body of an operation. */
export interface Body {
  /** Stops at the first violation: what every request pays. */
  readonly first: Validate;
  /** Collects all violations: what only a refused request pays. */
  readonly all: Validate;
  /** The defaults of the members that may be left out. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

/** An operation of the contract. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly template: string;
  /** Path parameters first, in the order of the template. */
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
}

/** All operations of the contract. */
export const operations: readonly Operation[];
