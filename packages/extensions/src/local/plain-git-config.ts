/** Sections that say how a repository works, and nothing that lets one be somebody. */
const KEPT = /^(?:core|extensions|index|merge|diff|branch(?: .*)?|remote(?: .*)?|user)$/i;
const SECTION = /^\s*\[\s*([\w.-]+)(?:\s+("(?:[^"\\]|\\.)*"))?\s*\]\s*(?:[#;].*)?$/;
const ENTRY = /^\s*([A-Za-z][\w-]*)\s*=\s*(.*)$/;
/** Programs that somebody's machine has, and files of it. */
const OF_THE_MACHINE =
  /^(?:hookspath|fsmonitor|sshcommand|gitproxy|askpass|attributesfile|excludesfile|pager|editor|worktree)$/i;

/**
 * A repository's configuration without what is its owner's alone: a sandbox has a copy, which goes
 * with its snapshots to wherever they are taken.
 */
export function plainGitConfig(text: string): string {
  const lines: string[] = [];
  let isKept = false;
  for (const line of text.split("\n")) {
    const section = SECTION.exec(line);
    if (section) {
      const [, name = "", part] = section;
      isKept = KEPT.test(part === undefined ? name : `${name} ${part}`);
      if (isKept) lines.push(part === undefined ? `[${name}]` : `[${name} ${part}]`);
      continue;
    }
    const [, key = "", value = ""] = ENTRY.exec(line) ?? [];
    // What is continued on another line, and what is no entry, is left out.
    if (!isKept || key === "" || value.endsWith("\\") || OF_THE_MACHINE.test(key)) continue;
    lines.push(`\t${key} = ${withoutLogin(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Of an address, who would go there, and with which word. */
function withoutLogin(value: string): string {
  return value.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s"/]*@/gi, "$1");
}
