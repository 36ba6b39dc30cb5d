// Generates deliberate faults in formatted TypeScript. A fault has its place by the name of a
// function and by a few tokens in it, between which white space and a trailing comma do not matter.

/** Says why a fault has no place. */
export class Misfit extends Error {}

const [OPENING, CLOSING, QUOTES] = ['([{', ')]}', '\'"`'];
const COMPARISONS = { '===': '!==', '!==': '===', '>': '>=', '>=': '>', '<': '<=', '<=': '<' };

/**
 * The kinds of mutations. Each gets the text, the range of the tokens, and what follows `==>`, and
 * returns a range and its replacement.
 */
const KINDS = {
  /** Leaves out the statement, or the member of a literal, that begins in the line. */
  drop(text, [at]) {
    const [start, end] = statementAt(text, at);
    return [start, end, /,\n?$/.test(text.slice(start, end)) ? '' : ';\n'];
  },
  /** Carries out the statement that begins in the line after the next one. */
  later(text, [at]) {
    const [start, middle] = statementAt(text, at);
    const [, end] = statementAt(text, middle);
    return [start, end, text.slice(middle, end) + text.slice(start, middle)];
  },
  /** The innermost condition of `if` or `while` never holds, but is evaluated. */
  never: (text, [at]) => condition(text, at, '&& false'),
  /** The same, but it always holds. */
  always: (text, [at]) => condition(text, at, '|| true'),
  /** Leaves out an operand of `&&` or `||`. */
  without(text, [at]) {
    const [start, end] = operandAt(text, at);
    const operators = [text.slice(0, start).trimEnd().slice(-2), text.slice(end, end + 2)];
    if (operators.includes('&&')) return [start, end, 'true '];
    if (operators.includes('||')) return [start, end, 'false '];
    throw new Misfit('it is no operand of && or ||');
  },
  /** Negates the next `===` or `!==`, or moves the bound of another comparison by one. */
  compare(text, [at]) {
    const [found] = /(?<= )(?:[!=]==|[<>]=?)(?= )/.exec(text.slice(at)) ?? [];
    if (!found) throw new Misfit('no comparison follows');
    const start = text.indexOf(` ${found} `, at) + 1;
    return [start, start + found.length, COMPARISONS[found]];
  },
  /** Multiplies the next number. */
  times: (text, [at], factor) => number(text, at, (each) => each * factor),
  /** Adds to the next number. */
  plus: (text, [at], step) => number(text, at, (each) => each + Number(step)),
  /** Replaces the tokens, where no other kind expresses the fault. */
  swap: (_text, [start, end], by = '') => [start, end, by],
};

/**
 * Returns the text with a fault of that kind at the tokens, in the part of that name; `*` is the
 * whole text. Throws a {@link Misfit}.
 */
export function mutate(text, name, kind, tokens, argument) {
  const ranges = name === '*' ? [[0, text.length]] : rangesOf(text, name);
  if (ranges.length === 0) throw new Misfit(`there is no ${name}`);
  const places = ranges.flatMap(([start, end]) =>
    [...text.slice(start, end).matchAll(patternOf(tokens))].map(({ index, 0: found }) => [
      start + index,
      start + index + found.length,
    ]),
  );
  const [place, ...others] = places;
  if (!place || others.some(([at]) => at !== place[0]))
    throw new Misfit(`the tokens are there ${places.length} times`);
  const [start, end, by] = KINDS[kind](text, place, argument);
  return text.slice(0, start) + by + text.slice(end);
}

function patternOf(tokens) {
  let pattern = '';
  for (const token of tokens.match(/\w+|[^\w\s]/g)) {
    if (/\w$/.test(pattern) && /^\w/.test(token)) pattern += '\\s+';
    else if (pattern !== '') pattern += CLOSING.includes(token) ? ',?\\s*' : '\\s*';
    pattern += token.replace(/^\W/, '\\$&');
  }
  return new RegExp(pattern, 'g');
}

/** Returns the range of a statement: up to the line of the same indentation that ends it. */
function statementAt(text, at) {
  const start = text.lastIndexOf('\n', at) + 1;
  const [indentation] = /^ */.exec(text.slice(start));
  const end = new RegExp(`^${indentation}[^ /\\n].*[;,}]\\n`, 'm').exec(text.slice(start));
  if (!end) throw new Misfit('it begins no statement');
  return [start, start + end.index + end[0].length];
}

function condition(text, at, more) {
  for (const { index, 0: found } of [
    ...text.slice(0, at).matchAll(/\b(?:if|while) \(/g),
  ].reverse()) {
    const start = index + found.length;
    const end = endOf(text, start, () => false);
    if (end > at) return [start, end, `(${text.slice(start, end)}) ${more}`];
  }
  throw new Misfit('no condition is around it');
}

const isLogical = (text, index) => ['&&', '||'].includes(text.slice(index, index + 2));

/** Whether an expression ends, or begins after, the character. */
function isBorder(text, index) {
  const [before, character, after] = [text[index - 1], text[index], text[index + 1]];
  if (character === '?') return after !== '.' && after !== '?' && before !== '?';
  if (character === '=') return !'=!<>'.includes(before) && after !== '=';
  return ';,:'.includes(character) || text.slice(index - 6, index + 1) === 'return ';
}

/** Returns the range of an operand of a logical operator. */
function operandAt(text, at) {
  const end = endOf(text, at, (index) => isLogical(text, index) || isBorder(text, index));
  let [start, depth] = [at, 0];
  for (; ; start -= 1) {
    if (start < 1) throw new Misfit('its expression has no beginning');
    const character = text[start - 1];
    if (QUOTES.includes(character)) start = text.lastIndexOf(character, start - 2) + 1;
    else if (CLOSING.includes(character)) depth += 1;
    else if (OPENING.includes(character) && depth > 0) depth -= 1;
    else if (OPENING.includes(character)) break;
    else if (depth === 0 && (isLogical(text, start - 2) || isBorder(text, start - 1))) break;
  }
  return [start + /^\s*/.exec(text.slice(start))[0].length, end];
}

/** Returns where `isEnd`, or a bracket that was opened before, ends an expression. */
function endOf(text, start, isEnd) {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    // A regular expression may contain a quotation mark that has no counterpart.
    if (QUOTES.includes(character)) {
      index = text.indexOf(character, index + 1);
      if (index === -1) break;
    } else if (OPENING.includes(character)) depth += 1;
    else if (CLOSING.includes(character) && depth > 0) depth -= 1;
    else if (CLOSING.includes(character) || (depth === 0 && isEnd(index))) return index;
  }
  throw new Misfit('its expression has no end');
}

function number(text, at, change) {
  const found = /(?<![\w?$])\d[\d_]*/.exec(text.slice(at));
  if (!found) throw new Misfit('no number follows');
  const start = at + found.index;
  return [start, start + found[0].length, String(change(Number(found[0].replaceAll('_', ''))))];
}

const KEYWORDS = '(?:(?:export|async|static|function\\*?|const|let|class|get|set|readonly) |\\*)*';

/** Returns the ranges of the functions, classes, constants and members of that name. */
function rangesOf(text, name) {
  const declared = new RegExp(`^( *)(${KEYWORDS})${name}(?=[<(:=? ])`, 'gm');
  return [...text.matchAll(declared)].flatMap(
    ({ index, 0: found, 1: indentation, 2: keywords }) => {
      // The next line that is no deeper is the last one if it only closes, else the one after it.
      const next = new RegExp(
        `^(?! {${indentation.length + 1}}|\\n)(?! *[)\\]}].*[{(]$).*\n`,
        'gm',
      );
      next.lastIndex = text.indexOf('\n', index) + 1;
      const isLine = /[;,]\n$/.test(text.slice(index, next.lastIndex));
      const last = isLine ? { index: next.lastIndex, 0: '' } : next.exec(text);
      const end = last.index + (/^ *[)\]}]/.test(last[0]) ? last[0].length : 0);
      const isCall = keywords === '' && text[index + found.length] === '(';
      return isCall && !/\},?\n$/.test(text.slice(index, end)) ? [] : [[index, end]];
    },
  );
}
