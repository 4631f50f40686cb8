/** What a terminal shows in two columns: Chinese, Japanese, Korean, full-width forms, emoji. */
const wide =
  /^(?:\p{Emoji_Presentation}|.\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18CFF}\u{1B000}-\u{1B2FF}\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}])/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const narrow = /^[\x20-\x7e]*$/;

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns that a text takes on a terminal. There is nothing in it that steers one. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment);
  return width;
}

function widthOfCharacter(character: string): number {
  if (wide.test(character)) return 2;
  return invisible.test(character) ? 0 : 1;
}

/** A text that takes no more than so many columns; where something had to go, it ends with `…`. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return '';
  let kept = '';
  let taken = 1;
  for (const { segment } of characters.segment(text)) {
    taken += widthOfCharacter(segment);
    if (taken > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** A text of exactly so many columns: cut, or filled up with spaces. */
export function fitted(text: string, width: number): string {
  const shown = cut(text, width);
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)));
}
