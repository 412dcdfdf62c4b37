import { archiveOf, longOf, type Member, paxOf } from "./archive.ts";

/** One archive that wants out, or wants something made that nobody may make. */
export interface Hostile {
  readonly what: string;
  /** By every reader that unpacks a tree; where it is not refused, all of it lies inside. */
  readonly outcome: "refused" | "inside";
  readonly archive: Buffer;
  /** GNU tar, told to trust its archive, does harm by it: so the canary is one that can be hit. */
  readonly bites?: true;
}

const link = (name: string, target: string): Member => ({ name, type: "2", target });
const hard = (name: string, target: string): Member => ({ name, type: "1", target });
const bad = (name: string): Member => ({ name, content: "bad" });

const as =
  (facts: Pick<Hostile, "outcome" | "bites">) =>
  (what: string, ...members: (Member | Buffer)[]): Hostile => ({
    what,
    ...facts,
    archive: archiveOf(members),
  });
const refused = as({ outcome: "refused" });
const bites = as({ outcome: "refused", bites: true });
const inside = as({ outcome: "inside" });

/**
 * Every kind of entry of FS-1 and FS-2. `outside` is a folder with a file `canary`, beside the one
 * that is unpacked to.
 */
export function corpus(outside: string): Hostile[] {
  return [...names(outside), ...links(outside), ...shapes(outside), ...types(), ...owners()];
}

function names(outside: string): Hostile[] {
  return [
    bites("..", bad("../outside/canary")),
    bites("an absolute path", bad(`${outside}/canary`)),
    bites(".. within", { name: "a/", type: "5", mode: 0o755 }, bad("a/../../outside/canary")),
    bites("a PAX path", paxOf({ path: "../outside/canary" }), bad("ok")),
    bites("a GNU long name", longOf("L", `${outside}/${"./".repeat(60)}canary`), bad("ok")),
    refused("a NUL in a PAX path", paxOf({ path: "ok\0/../../outside/canary" }), bad("ok")),
    refused("a path of more than 4096 bytes", longOf("L", `${"d".repeat(200)}/`.repeat(25)), bad("ok")),
    refused("5,000 folders deep", longOf("L", `${"d/".repeat(5_000)}f`), bad("f")),
    inside("a NUL in a name", bad("ok\0/../../outside/canary")),
    inside("a drive", bad("C:.."), bad("C:..\\outside\\canary")),
    inside("backslashes", bad("..\\outside\\canary"), bad("a\\..\\..\\b")),
    inside("twins by case and by composition", ...["e\u0301", "\u00e9", "A", "a"].map(bad)),
    inside("trailing dots", bad("dots.."), bad("..."), bad("d./f.")),
    inside("names that look like options", bad("-rf"), bad("--checkpoint-action=exec=sh"), bad("-")),
  ];
}

function links(outside: string): Hostile[] {
  return [
    bites("a link, then through it", link("l", "../outside"), bad("l/canary")),
    bites("an absolute link, then through it", link("l", outside), bad("l/canary")),
    bites("a link to a link", link("a", "../outside"), link("b", "a"), bad("b/canary")),
    bites("a PAX target", paxOf({ linkpath: "../outside" }), link("l", "ok"), bad("l/canary")),
    bites("a GNU long target", longOf("K", outside + "/.".repeat(60)), link("l", "ok"), bad("l/canary")),
    bites("a folder through a link", link("l", "../outside"), { name: "l/new/", type: "5" }),
    bites("a hard link to an absolute path", hard("h", `${outside}/canary`)),
    bites("two links and a hard link", link("a", "../outside"), link("b", "a"), hard("h", "b/canary")),
    refused("a PAX target of a hard link", paxOf({ linkpath: "../outside/canary" }), hard("h", "ok")),
    refused("a hard link to a link", link("l", "../outside/canary"), hard("h", "l"), bad("h")),
    refused("a hard link to a device", { name: "n", type: "3" }, hard("h", "n")),
    bites(
      "one name, first a file, then a folder, then a link",
      bad("x"),
      { name: "x/", type: "5" },
      link("x", "../outside"),
      bad("x/canary"),
    ),
  ];
}

function shapes(outside: string): Hostile[] {
  const entry = archiveOf([bad(`${outside}/canary`)], { isWhole: false });
  const cut = archiveOf([{ name: "a", content: "x".repeat(2_000) }]).subarray(0, 1_500);
  const endless = archiveOf([bad("a")], { isWhole: false });
  return [
    inside("two archives, one behind the other", archiveOf([bad("first")]), entry),
    { ...refused("an archive that is cut off"), archive: cut },
    { ...refused("an archive that does not end"), archive: endless },
    refused("a PAX size that makes entries of content", paxOf({ size: "0" }), { name: "ok", content: entry }),
    inside(
      "a PAX size that makes content of entries",
      paxOf({ size: `${entry.length}` }),
      { name: "ok" },
      entry,
    ),
    refused("a PAX size that is a lie", paxOf({ size: "99999999" }), bad("ok")),
    refused("a size that is a lie", { name: "ok", size: 2 ** 32 }),
  ];
}

function types(): Hostile[] {
  const capability = paxOf({ "SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x20\x00\x00" });
  const socket = paxOf({ "SCHILY.filetype": "socket" });
  return [
    inside("a character device", { name: "n", type: "3" }, bad("ok")),
    inside("a block device", { name: "n", type: "4" }, bad("ok")),
    inside("a pipe", { name: "n", type: "6" }, bad("ok")),
    inside("a socket", socket, { name: "n" }, { name: "m", type: "s" }, bad("ok")),
    inside("types that nobody knows", { name: "n", type: "D" }, { name: "m", type: "V" }, bad("ok")),
    inside("set-user-id", { name: "suid", mode: 0o4755, content: "x" }),
    inside("set-group-id", { name: "sgid", mode: 0o2755, content: "x" }),
    inside("capabilities", capability, { name: "cap", mode: 0o755, content: "x" }),
    refused("GNU's sparse type", { name: "x", type: "S" }),
    refused(
      "a sparse file that says it is large",
      paxOf({ "GNU.sparse.realsize": "1099511627776" }),
      bad("x"),
    ),
  ];
}

function owners(): Hostile[] {
  const nobody = ["4294967295", "4294967296", "18446744073709551615"];
  return [
    inside("root's", { name: "x", uid: 0, content: "x" }),
    ...nobody.map((id) => refused(`an owner of ${id}`, paxOf({ uid: id, gid: id }), bad("x"))),
  ];
}
