// Lays out SQL for readers: a clause a line, and long parentheses in lines of their own.

/** A token, or what stands in parentheses. */
type Part = string | readonly Part[];

const TOKEN = /\s*(?:'(?:[^']|'')*'|"[^"]*"|[(),]|[^\s'"(),]+)/gy;
const CLAUSES = new Set([
  ...['WITH', 'SELECT', 'FROM', 'WHERE', 'GROUP', 'ORDER', 'HAVING', 'LIMIT', 'UNION', 'INSERT'],
  ...['UPDATE', 'SET', 'DELETE', 'RETURNING', 'CROSS', 'LEFT', 'AND', 'OR', 'WHEN', 'ELSE', 'END'],
]);
const INDENTED = /^(?:AND|OR|WHEN|ELSE)\b/;
const WIDTH = 100;

/** Returns the statement in lines; only white space differs. */
export function layOut(sql: string): string {
  const tokens = [...sql.matchAll(TOKEN)].map(([token]) => token.replace(/^\s+/, ' '));
  return linesOf(partsOf(tokens.values()), '').join('\n');
}

/** Reads tokens up to the end of a part; a space before a token is a part of it. */
function partsOf(tokens: Iterator<string>): Part[] {
  const parts: Part[] = [];
  for (let next = tokens.next(); !next.done; next = tokens.next()) {
    const token = next.value;
    if (token.trim() === ')') break;
    parts.push(token);
    if (token.trim() === '(') parts.push(partsOf(tokens));
  }
  return parts;
}

function flat(part: Part): string {
  return typeof part === 'string' ? part : `${part.map(flat).join('').trim()})`;
}

/** Returns the lines of parts, whose clauses begin a line. */
function linesOf(parts: readonly Part[], indent: string): string[] {
  const clauses: Part[][] = [[]];
  let before = '';
  for (const part of parts) {
    const word = typeof part === 'string' ? part.trim() : '';
    const isWithin = before === 'DELETE' || clauses.at(-1)?.includes(' BETWEEN') === true;
    if (CLAUSES.has(word) && !isWithin) clauses.push([]);
    clauses.at(-1)?.push(part);
    before = word;
  }
  return clauses.flatMap((clause) => filled(clause, indent));
}

/** Returns the lines of a clause, in which as many values as fit stand in a line. */
function filled(clause: readonly Part[], indent: string): string[] {
  const begin = INDENTED.test(clause.map(flat).join('').trim()) ? `${indent}  ` : indent;
  const lines: string[] = [];
  let line = begin;
  const append = (text: string) => {
    line += line.trim() === '' ? text.trimStart() : text;
  };
  for (const [index, part] of clause.entries()) {
    const rest = clause.slice(index, clause.indexOf(',', index) + 1 || undefined);
    if (clause[index - 1] === ',' && (line + rest.map(flat).join('')).length > WIDTH) {
      lines.push(line);
      line = `${begin}  `;
    }
    if (typeof part === 'string' || (line + flat(part)).length <= WIDTH) {
      append(flat(part));
      continue;
    }
    const own = line.slice(0, line.search(/\S/));
    lines.push(line, ...linesOf(part, `${own}  `));
    line = `${own})`;
  }
  return line.trim() === '' ? lines : [...lines, line];
}
