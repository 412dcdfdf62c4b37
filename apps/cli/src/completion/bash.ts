import { NAMES, pairsOf, valuesOf, type Word } from "./words.ts";

const quoted = (words: readonly string[]) => words.map((word) => `"${word}"`).join("|");

/** Where nothing of ours fits, files do: that is what `-o default` says. */
export function bash(words: readonly Word[]): string {
  const cases = words.map(({ name, options, next, takesSandbox }) => {
    const offered = next.map(({ word }) => word).join(" ");
    const flags = options.map(({ word }) => word).join(" ");
    return `    "${name}") words="${offered}${takesSandbox ? ` $(${NAMES})` : ""}" options="${flags}" ;;`;
  });
  const values = valuesOf(words);
  const known = values.flatMap(({ behind, choices }) =>
    choices.length > 0
      ? `    ${quoted(behind)}) COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current")); return ;;`
      : [],
  );
  const open = values.flatMap(({ behind, choices }) => (choices.length > 0 ? [] : behind));
  return `_sandboxer() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" words="" options="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -- ]] && return
  done
  [[ $COMP_CWORD -gt 1 ]] && command="\${COMP_WORDS[1]}"
  if [[ $COMP_CWORD -gt 2 ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
      ${quoted(pairsOf(words))}) command="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" ;;
    esac
  fi
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${known.join("\n")}
    ${quoted(open)}) return ;;
  esac
  case "$command" in
${cases.join("\n")}
  esac
  [[ "$current" == -* ]] && words="$options"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sandboxer sandboxer
`;
}
