// Colours code in the guides when they are built: words of a few kinds get a class, which guide.css
// colours. The languages are those of the guides.
import { escapeHtml } from './page.ts';

const QUOTED = String.raw`"(?:\\.|[^"\\])*"`;
const STRING = String.raw`(?<string>'[^'\n]*'|${QUOTED})`;
const COMMENT = String.raw`(?<comment>(?<!\S)#.*)`;
const OPTION = String.raw`(?<option>(?<![^\s[(])--?[A-Za-z][\w-]*)`;

const keywords = (words: string) => String.raw`(?<keyword>\b(?:${words.replaceAll(' ', '|')})\b)`;

const SHELL = [
  ...[COMMENT, `(?<string>'[^']*'|${QUOTED})`, OPTION],
  keywords('case do done elif else esac exit export fi for function if in return then while'),
];
const SCRIPT_WORDS =
  'async await break case catch class const continue else export for from function if import in ' +
  'let new of return throw try typeof while';
const SCRIPT = [
  String.raw`(?<comment>(?<!\S)//.*|/\*[^]*?\*/)`,
  `(?<string>'[^'\\n]*'|${QUOTED}|\`[^\`]*\`)`,
  keywords(SCRIPT_WORDS),
];
const PYTHON_WORDS =
  'and as break class continue def else except for from if import in is not or raise return try ' +
  'while with';
const SERVER = [COMMENT, STRING, String.raw`(?<keyword>(?<=^[ \t]*)[@</]?\w[\w-]*)`];

/** What is coloured in each language, as alternatives; the name of a group is the class. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  /** Code within a line of text, and output. */
  inline: [OPTION],
  sh: SHELL,
  console: SHELL,
  js: SCRIPT,
  ts: SCRIPT,
  python: [COMMENT, STRING, keywords(PYTHON_WORDS)],
  json: [`(?<option>${QUOTED}(?=\\s*:))`, STRING, keywords('true false null')],
  yaml: [COMMENT, String.raw`(?<option>[\w-]+(?=:(?:\s|$)))`, STRING],
  ini: [COMMENT, String.raw`(?<keyword>^\[.*\])`, String.raw`(?<option>^\w+(?==))`],
  nginx: SERVER,
  apache: SERVER,
  caddyfile: SERVER,
};

/** The address of the service in the guides; what an operator sets for it is another. */
const ADDRESS = /(?<!BASE_URL=)http:\/\/127\.0\.0\.1:3000/g;

/** Returns code as HTML, coloured if the language is known. */
export function highlight(code: string, language: string): string {
  if (language === 'console') return code.split('\n').map(highlightLine).join('\n');
  return highlightWords(code, language);
}

/** Marks what the reader types, so that a script can copy it without the prompt and the output. */
function highlightLine(line: string): string {
  if (!line.startsWith('$ ')) return highlightWords(line, 'inline');
  const typed = highlightWords(line.slice(2), 'console');
  return `<span class="prompt">$ </span><span class="typed">${typed}</span>`;
}

function highlightWords(code: string, language: string): string {
  // The last alternative is any other character.
  const pattern = new RegExp([...(LANGUAGES[language] ?? []), '[^]'].join('|'), 'gm');
  const parts = [...code.matchAll(pattern)].map(({ 0: text, groups = {} }) => {
    const [kind] = Object.keys(groups).filter((name) => groups[name] !== undefined);
    return kind ? `<span class="${kind}">${escapeHtml(text)}</span>` : escapeHtml(text);
  });
  return parts.join('').replace(ADDRESS, '<span class="base-url">$&</span>');
}
