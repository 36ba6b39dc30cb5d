// Texts for properties: of line ends, white space, `#`, marks, and any other code points.
import fc from 'fast-check';

/** Any text. */
export const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom('\n', '\r', '\r\n', ' ', '\t', '#', '# ', 'a', '\0', '\ufeff', '\u2028', '𝒂'),
      fc.string({ unit: 'binary' }),
    ),
    { maxLength: 16 },
  )
  .map((parts) => parts.join(''));

/** One that is not blank. */
export const filledText = anyText.filter((each) => each.trim() !== '');
