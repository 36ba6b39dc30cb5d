// Builds the service and starts it. Under `npm run dev`, Node runs this again after each change.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
if (status === 0) {
  const launcher = new URL('../bin/notes-server', import.meta.url);
  // What further processes of the service run, too.
  process.argv[1] = fileURLToPath(launcher);
  await import(launcher);
}
