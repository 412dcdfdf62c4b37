import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findLeaks } from "./find-leaks.ts";

const root = mkdtempSync(join(tmpdir(), "sandboxer-leaks-"));
afterAll(() => rmSync(root, { recursive: true }));

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const SAFE = {
  "sys/kernel/mm/ksm/run": "0\n",
  "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
  "sys/devices/system/cpu/smt/active": "0\n",
  "sys/devices/system/cpu/vulnerabilities/mds": "Mitigation: Clear CPU buffers\n",
};
const UNSAFE = {
  "sys/kernel/mm/ksm/run": ["1\n", "KSM"],
  "proc/swaps": ["Filename\tType\tSize\tUsed\tPriority\n/swap file 1 0 -2\n", "swapped"],
  "sys/devices/system/cpu/smt/active": ["1\n", "SMT"],
  "sys/devices/system/cpu/vulnerabilities/mds": ["Vulnerable: no microcode\n", "open to mds"],
} as const;

it("XS-10 names each setting that lets neighbours guess, and none where there is none", async () => {
  for (const [path, text] of Object.entries(SAFE)) put(path, text);
  expect(await findLeaks(root)).toMatchObject({ ok: true });
  for (const [path, [text, word]] of Object.entries(UNSAFE)) {
    put(path, text);
    const found = await findLeaks(root);
    expect(found).toMatchObject({ ok: false, fix: expect.any(String) });
    expect(found.message).toContain(word);
    put(path, SAFE[path as keyof typeof SAFE]);
  }
});
