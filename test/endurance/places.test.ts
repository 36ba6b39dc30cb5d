// The tests that must pass in every place, in memory and with two processes.
process.env.NOTES_TEST_PLACES = 'others';

await import('../service/lists/members.test.ts');
await import('../service/lists/search.test.ts');
await import('../service/records/tags-on-notes.test.ts');
