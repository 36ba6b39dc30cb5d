// The tests that must pass in every deployment, in memory and with two processes.
process.env.NOTES_TEST_DEPLOYMENTS = 'others';

await import('../service/lists/members.test.ts');
await import('../service/lists/search.test.ts');
await import('../service/records/tags-by-name.test.ts');
await import('../service/records/tags-on-notes.test.ts');
