/** Messages quote what others wrote; a terminal must not obey it. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) =>
    character === "\n" ? " " : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
