// The tests that must pass in every place, with two processes.
process.env.NOTES_TEST_PLACES = 'processes';

await import('../service/lists/members.test.ts');
await import('../service/lists/search.test.ts');
await import('../service/records/safe-writes.test.ts');
await import('../service/records/tags-on-notes.test.ts');
