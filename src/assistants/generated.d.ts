// The types of generated.js, which src/build/contract.ts generates from schemas/openapi.json.
import type { Operation, Parameter, Validate } from '../contract/generated.js';

export type Requested = Pick<Operation, 'method' | 'template'>;

/** A tool that makes the first of its requests whose argument `when` is given, or that has none. */
export interface OperationTool {
  /** How clients list it. */
  readonly listing: { readonly name: string; readonly annotations: Record<string, boolean> };
  /** Each with its name in a request, which validates its body itself. */
  readonly arguments: readonly (Omit<Parameter, 'in' | 'validate'> & {
    /** A flag only chooses the request. */
    readonly to: 'path' | 'query' | 'header' | 'body' | 'flag';
    readonly target: string;
    readonly type: string;
    readonly isRequired: boolean;
    /** The default is the time before this many seconds. */
    readonly ago?: number;
    readonly validate?: Validate;
  })[];
  /** With the part of the query that is always the same. */
  readonly requests: readonly (Requested & {
    readonly pathNames: readonly string[];
    readonly when?: string;
    readonly query?: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** The arguments with which another request tells more, if there is no such record. */
    readonly ifMissing?: object;
  })[];
  /** What reads the note with a name, where requests need its id. */
  readonly find?: Requested;
  /** What reads the note after a request that writes, and is shown instead of its answer. */
  readonly show?: Requested & { readonly query: string };
  /** What reads the notes of changes: those that are there, and those in the trash. */
  readonly titles?: readonly Requested[];
  /** What to do, by the name of an argument, the code of its violation, or the slug. */
  readonly remedies: Readonly<Record<string, string>>;
}

/** In the order in which clients list them. */
export const tools: readonly OperationTool[];

/** What assistants get to know before they call a tool. */
export const TOOL_HELP: { readonly instructions: string };
