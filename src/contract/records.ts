// The shapes of the contract's records as TypeScript sees them, once a validator has spoken.

/** An id that the service has given: 1 or more. */
export type RecordId = number;

/** What a list takes: how many records at most, and how many to skip. */
export interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

/** The health record: specification, section 2. */
export interface Health {
  readonly status: 'ok';
  readonly db: 'ok' | 'error';
}
