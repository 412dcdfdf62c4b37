import { NAMES, pairsOf, type Said, valuesOf, type Word } from "./words.ts";

const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const quoted = (words: readonly string[]) => words.map(quote).join(" ");
/** As fish reads it: the word, a tab, what it is. */
const described = (all: readonly Said[]) =>
  quoted(all.map(({ word, description }) => `${word}\t${description}`));

export function fish(words: readonly Word[]): string {
  const cases = words.map(({ name, options, next, takesSandbox }) => {
    const names = takesSandbox ? ` (${NAMES})` : "";
    return `    case ${quote(name)}
      set offered ${described(next)}${names}
      set options ${described(options)}`;
  });
  const values = valuesOf(words);
  const known = values.flatMap(({ behind, choices }) =>
    choices.length > 0
      ? `    case ${quoted(behind)}\n      printf '%s\\n' ${quoted(choices)}\n      return`
      : [],
  );
  const open = values.flatMap(({ behind, choices }) => (choices.length > 0 ? [] : behind));
  return `function __sandboxer_words
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l command ''
  set -l offered
  set -l options
  if contains -- -- $typed
    __fish_complete_path "$current"
    return
  end
  set -q typed[2]; and set command $typed[2]
  if set -q typed[3]; and contains -- "$typed[2..3]" ${quoted(pairsOf(words))}
    set command "$typed[2..3]"
  end
  switch "$command $typed[-1]"
${known.join("\n")}
    case ${quoted(open)}
      __fish_complete_path "$current"
      return
  end
  switch "$command"
${cases.join("\n")}
  end
  if string match -q -- '-*' "$current"
    printf '%s\\n' $options
  else if set -q offered[1]; and string match -q -- "$current*" $offered
    printf '%s\\n' $offered
  else
    __fish_complete_path "$current"
  end
end
complete -c sandboxer -f -a '(__sandboxer_words)'
`;
}
