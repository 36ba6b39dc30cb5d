// Scripts that complete commands and flags in a shell, made from the tables of both.
import { type Flag, HELP_FLAG } from './arguments.ts';
import { type Shell, SUB_COMMANDS, type SubCommand } from './command-line.ts';
import { SERVICE_FLAGS } from './options.ts';

/** The names of values that are files. */
const FILES: ReadonlySet<string | undefined> = new Set(['FILE', 'PATH', 'DB']);

const SCRIPTS: Readonly<Record<Shell, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Returns the script for a shell. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell]();
}

const serviceFlags = [...SERVICE_FLAGS, HELP_FLAG];
const names = SUB_COMMANDS.map(({ name }) => name).join(' ');

function flagsOf({ flags }: SubCommand): readonly Flag[] {
  return [...flags, HELP_FLAG];
}

/** The words of `flags`, as a command line has them. */
function wordsOf(flags: readonly Flag[]): string {
  return flags.map(({ flag }) => `--${flag}`).join(' ');
}

function takesFile({ argument, choices }: SubCommand): boolean {
  return argument !== '' && choices === undefined;
}

/** Where the script offers nothing, bash itself completes files (`-o default`). */
function bashScript(): string {
  const withChoices = SERVICE_FLAGS.filter(({ choices }) => choices);
  const others = SERVICE_FLAGS.filter(
    ({ value, choices }) => value && !choices && !FILES.has(value),
  );
  const files = [...SERVICE_FLAGS, ...SUB_COMMANDS.flatMap(({ flags }) => flags)].filter(
    ({ value }) => FILES.has(value),
  );
  const choices = withChoices.map(
    ({ flag, choices }) => `    --${flag}) words='${choices?.join(' ')}' ;;`,
  );
  const commands = SUB_COMMANDS.map((command) => {
    const words = [...(command.choices ?? []), wordsOf(flagsOf(command))].join(' ');
    const guard = takesFile(command) ? '[[ $current == -* ]] || return 0; ' : '';
    return `      ${command.name}) ${guard}words='${words}' ;;`;
  });
  return `# Completes notes-server in bash.
_notes_server() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} words=
  COMPREPLY=()
  case $previous in
    ${pattern(files)}) return 0 ;;
    ${pattern(others)}) compopt +o default 2>/dev/null; return 0 ;;
${choices.join('\n')}
  esac
  if [[ -z $words ]]; then
    case \${COMP_WORDS[1]} in
${commands.join('\n')}
      *)
        words='${wordsOf(serviceFlags)}'
        if ((COMP_CWORD == 1)); then words+=' ${names}'; fi
        ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _notes_server notes-server
`;
}

function pattern(flags: readonly Flag[]): string {
  return [...new Set(flags.map(({ flag }) => `--${flag}`))].join('|');
}

function zshScript(): string {
  const described = SUB_COMMANDS.map(({ name, help }) => `    ${quoted(`${name}:${help}`)}`);
  const commands = SUB_COMMANDS.map((command) => {
    const { name, argument, choices } = command;
    const action = choices ? `(${choices.join(' ')})` : '_files';
    const word = argument === '' ? [] : [quoted(`1:argument:${action}`)];
    return `    ${name}) _arguments ${[...flagsOf(command).map(zshFlag), ...word].join(' ')} ;;`;
  });
  return `#compdef notes-server
# Completes notes-server in zsh.
_notes-server() {
  local -a commands=(
${described.join('\n')}
  )
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  case $words[2] in
    ${names.replaceAll(' ', '|')})
      shift words
      ((CURRENT -= 1))
      ;;
  esac
  case $words[1] in
${commands.join('\n')}
    *) _arguments ${serviceFlags.map(zshFlag).join(' ')} ;;
  esac
}
compdef _notes-server notes-server
# As a file in $fpath, this script is the body of the function.
if [[ $funcstack[1] == _notes-server ]]; then _notes-server "$@"; fi
`;
}

function zshFlag({ flag, value, choices, repeatable, help }: Flag): string {
  const action = choices ? `(${choices.join(' ')})` : FILES.has(value) ? '_files' : ' ';
  const many = repeatable ? '*' : '';
  const argument = value ? `:${value}:${action}` : '';
  return quoted(
    `${many}--${flag}${value ? '=' : ''}[${help.replace(/[[\]\\]/g, '\\$&')}]${argument}`,
  );
}

function fishScript(): string {
  const service = `-n 'not __fish_seen_subcommand_from ${names}'`;
  const lines = SUB_COMMANDS.flatMap((command) => {
    const { name, help, choices } = command;
    const within = `-n '__fish_seen_subcommand_from ${name}'`;
    const words = choices ? [`${within} -a '${choices.join(' ')}'`] : [];
    return [
      `-n __fish_use_subcommand -a ${name} -d ${quoted(help)}`,
      ...(takesFile(command) ? [`${within} -F`] : words),
      ...flagsOf(command).map((flag) => `${within} ${fishFlag(flag)}`),
    ];
  });
  const all = [...lines, ...serviceFlags.map((flag) => `${service} ${fishFlag(flag)}`)];
  return `# Completes notes-server in fish.
complete -c notes-server -f
${all.map((line) => `complete -c notes-server ${line}\n`).join('')}`;
}

function fishFlag({ flag, short, value, choices, help }: Flag): string {
  const argument = FILES.has(value) ? ' -r -F' : value ? ' -x' : '';
  const values = choices ? ` -a '${choices.join(' ')}'` : '';
  return `-l ${flag}${short ? ` -s ${short}` : ''}${argument}${values} -d ${quoted(help)}`;
}

/** Quotes a text, which must not end with a backslash, for zsh and fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
