// The scripts of `notes-server completion`, in the shells that are installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SHELLS, type Shell, SUB_COMMANDS } from '../../../src/cli/command-line.ts';
import { completionScript } from '../../../src/cli/completion.ts';
import { SERVICE_FLAGS } from '../../../src/cli/options.ts';
import { runCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { skipLoudly } from '../../support/skip.ts';

/** Command lines whose last word is to be completed, with the expected words. */
const LINES: readonly (readonly [words: readonly string[], completions: readonly string[]])[] = [
  [['ba'], ['backup']],
  [['--po'], ['--port']],
  [['--port', '1', '--idle'], ['--idle-timeout']],
  [['--log-level', 'd'], ['debug']],
  [['backup', '--d'], ['--db']],
  [['restore', 'a', '--f'], ['--force']],
  [['copy', '--t'], ['--to']],
  [['completion', 'z'], ['zsh']],
  [['help', 'im'], ['import']],
  [['--db', 'a-f'], ['a-file']],
  [['backup', 'a-f'], ['a-file']],
];

/** How each shell completes a line with the script in the file `script`. */
const RUN: Readonly<Record<Shell, (words: readonly string[]) => string>> = {
  // Without completions of the script, bash offers files.
  bash: (words) => `source ./script
    COMP_WORDS=(notes-server ${words.join(' ')}) COMP_CWORD=${words.length}
    [[ $(complete -p notes-server) =~ ^'complete -o default -F '(.*)' notes-server'$ ]]
    "\${BASH_REMATCH[1]}"
    if ((\${#COMPREPLY[@]})); then printf '%s\\n' "\${COMPREPLY[@]}"
    else compgen -f ${words.at(-1)}; fi`,
  // zsh completes only on a terminal: it prints the line that a tab makes.
  zsh: (words) => `zmodload zsh/zpty
    zpty shell 'TERM=vt100 zsh -f -i'
    zpty -w shell "PS1=''; autoload -U compinit; compinit -u -d ./dump; source ./script"
    zpty -w shell $'bindkey "^I" complete-word; show() { print -r -- "[["$BUFFER"]]"; }'
    zpty -w shell $'zle -N show; bindkey "^X" show; print -r re""ady'
    zpty -r shell line '*ready*'
    zpty -w -n shell $'notes-server ${words.join(' ')}\\t\\x18'
    zpty -r shell line '*]]*'
    line=\${line##*\\[\\[} line=\${line%%\\]\\]*} line=\${line%[ =]}
    print -r -- \${line##* }
    zpty -d shell`,
  fish: (words) =>
    `source ./script; complete -C 'notes-server ${words.join(' ')}' | string replace -r '\\t.*' ''`,
};

/** Returns a folder with the script and a file to complete. */
function folderFor(t: TestContext, shell: Shell): string {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'script'), completionScript(shell));
  writeFileSync(join(folder, 'a-file'), '');
  return folder;
}

function runShell(folder: string, shell: Shell, ...args: string[]) {
  return spawnSync(shell, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder, TERM: 'dumb' },
    timeout: 30_000,
  });
}

for (const shell of SHELLS) {
  test(`completion: ${shell} gets every command and flag, and its script is valid`, async (t) => {
    const { status, stdout, stderr } = await runCommand(t, ['completion', shell]);
    assert.deepEqual(
      { status, stdout, stderr },
      { status: 0, stdout: completionScript(shell), stderr: '' },
    );
    const flags = [SERVICE_FLAGS, ...SUB_COMMANDS.map((each) => each.flags)].flat();
    for (const { name } of SUB_COMMANDS) assert.ok(stdout.includes(name), name);
    for (const { flag } of flags)
      assert.ok(stdout.includes(shell === 'fish' ? `-l ${flag} ` : `--${flag}`), flag);
    const check = runShell(folderFor(t, shell), shell, '-n', 'script');
    if (check.error) return skipLoudly(t, `there is no ${shell} here`);
    assert.deepEqual([check.status, check.stderr], [0, '']);
  });

  test(`completion: ${shell} completes commands, flags, values and files`, (t) => {
    const folder = folderFor(t, shell);
    for (const [words, completions] of LINES) {
      const { error, stdout, stderr } = runShell(folder, shell, '-c', RUN[shell](words));
      if (error) return skipLoudly(t, `there is no ${shell} here`);
      assert.deepEqual(stdout.split('\n').filter(Boolean), completions, `${words}: ${stderr}`);
    }
  });
}
