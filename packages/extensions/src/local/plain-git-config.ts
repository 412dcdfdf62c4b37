/** Keys that say how a repository works, and nothing that runs a program or lets one be somebody. */
const KEPT: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks|autocrlf|eol|safecrlf|precomposeunicode|quotepath|abbrev|sparsecheckout|sparsecheckoutcone)$/,
  extensions:
    /^(?:objectformat|compatobjectformat|refstorage|worktreeconfig|partialclone|preciousobjects|noop|relativeworktrees)$/,
  index: /^(?:version|sparse)$/,
  user: /^(?:name|email)$/,
  init: /^defaultbranch$/,
  pull: /^(?:ff|rebase)$/,
  push: /^(?:default|autosetupremote|followtags)$/,
  merge: /^(?:ff|conflictstyle|renames)$/,
  rebase: /^(?:autosquash|autostash|updaterefs)$/,
  diff: /^(?:algorithm|renames)$/,
};
/** Of those that have a name of their own: `[remote "origin"]`. */
const KEPT_OF_ONE: Readonly<Record<string, RegExp>> = {
  remote: /^(?:url|pushurl|fetch|push|tagopt|prune|promisor|partialclonefilter)$/,
  branch: /^(?:remote|pushremote|merge|rebase)$/,
};
const HEADER = /^\s*\[/;
const SECTION = /^\s*\[([\w.-]+)(?:\s+("(?:[^"\\]|\\.)*"))?\]\s*(?:[#;].*)?$/;
/** In quotes as a whole, or not at all. What comes after a value is a comment. */
const ENTRY = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(?:"([^"\\]*)"|([^"\\#;]*))\s*(?:[#;].*)?$/;
/** `ext::ssh -i key`, and all others that name how to go somewhere. */
const OF_A_PROGRAM = /^[\w+.-]+::/;

/**
 * A repository's configuration without what is its owner's alone: a sandbox has a copy, which goes
 * with its snapshots to wherever they are taken. What is not known is left out.
 */
export function plainGitConfig(text: string): string {
  const lines: string[] = [];
  let kept: RegExp | undefined;
  let isContinued = false;
  for (const line of text.split("\n").map((line) => line.replace(/\r$/, ""))) {
    const isPart = isContinued;
    isContinued = line.endsWith("\\");
    if (HEADER.test(line)) {
      // One that is not understood ends what was kept, too.
      const [, name = "", part] = (!isPart && SECTION.exec(line)) || [];
      const known = part === undefined ? KEPT : KEPT_OF_ONE;
      const section = name.toLowerCase();
      kept = Object.hasOwn(known, section) && !part?.includes("://") ? known[section] : undefined;
      if (kept) lines.push(part === undefined ? `[${name}]` : `[${name} ${part}]`);
      continue;
    }
    const [, key = "", quoted, bare = ""] = ENTRY.exec(line) ?? [];
    if (!kept?.test(key.toLowerCase()) || isPart || isContinued) continue;
    const value = withoutLogin(quoted ?? bare.trimEnd());
    if (!OF_A_PROGRAM.test(value)) lines.push(`\t${key} = ${quoted === undefined ? value : `"${value}"`}`);
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Of an address, who would go there, with which word and for what. The name that ssh goes by is no
 * secret, and part of where it leads.
 */
function withoutLogin(value: string): string {
  return value.replace(/([a-z][a-z0-9+.-]*):\/\/(\S*)/gi, (_, scheme: string, rest: string) => {
    const [, place = "", path = ""] = /^([^/?#]*)([^?#]*)/.exec(rest) ?? [];
    const at = place.lastIndexOf("@");
    const login = place.slice(0, Math.max(at, 0)).replace(/:.*$/, "");
    const user = /^(?:git\+)?ssh$|^ssh\+git$/i.test(scheme) && login !== "" ? `${login}@` : "";
    return `${scheme}://${user}${place.slice(at + 1)}${path}`;
  });
}
