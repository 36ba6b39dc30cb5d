// Texts for properties: of line ends, white space, headings, front matter, and any code points.
import fc from 'fast-check';

const parts = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\r',
        '\r\n',
        ' ',
        '\t',
        '#',
        '# ',
        'a',
        '\n---\n',
        '\ntitle: ',
        '\0',
        '\ufeff',
        '\u2028',
        '𝒂',
      ),
      fc.string({ unit: 'binary' }),
    ),
    { maxLength: 16 },
  )
  .map((all) => all.join(''));

/** Any text. */
export const anyText = fc
  .tuple(fc.constantFrom('', '', '---\n', '---\r\n---\n'), parts)
  .map((each) => each.join(''));

/** One that is not blank. */
export const filledText = anyText.filter((each) => each.trim() !== '');
