// Compiles only if the compiler finds the types of the package.
import { createApp } from 'notes-server';

export const url: Promise<string> = createApp({ db: ':memory:' }).listen();
// @ts-expect-error: the option db is required.
createApp({});
