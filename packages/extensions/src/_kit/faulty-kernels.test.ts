import { expect, it } from "vitest";
import { kernelFault } from "./faulty-kernels.ts";

const debian = (release: string, version: string) =>
  `Linux version ${release} (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian ${version} (2026-11-05)\n`;

it.each([
  ["/proc/version", debian("6.1.0-55-amd64", "6.1.192-1")],
  ["/proc/version of a cloud kernel", debian("6.1.0-55-cloud-amd64", "6.1.192-1")],
  ["uname -v", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-05)"],
  ["/proc/version of a rebuilt one", debian("6.1.0-rebuilt-amd64", "6.1.192-1")],
  ["uname -r", "6.1.0-55-amd64"],
  ["uname -r of a kernel of one's own", "6.1.192"],
  ["/proc/version of a kernel of one's own", "Linux version 6.1.191-custom (me@here) (gcc 12) #1 SMP"],
])("PO-3 names the kernel whose ext4 crashes, by %s", (_, said) => {
  expect(kernelFault(said)).toMatchObject({
    message: expect.stringContaining("ext4_mb_load_buddy_gfp"),
    fix: expect.stringContaining("6.1.190"),
  });
});

it.each([
  ["5.15.24", "CVE-2022-0847", "5.15.25"],
  ["5.15.0", "CVE-2022-0847", "5.15.25"],
  ["5.16.10-custom", "CVE-2022-0847", "5.16.11"],
  [debian("6.1.0-9-amd64", "6.1.27-1"), "CVE-2023-3269", "6.1.37"],
  ["6.1.36", "CVE-2023-3269", "6.1.37"],
  ["6.2.16", "CVE-2023-3269", "6.1.37"],
  ["6.3.10", "CVE-2023-3269", "6.3.11"],
  ["6.4.0-rc7", "CVE-2023-3269", "6.4.1"],
])("PO-3 names the hole of %s, and from where its series has none", (said, hole, mended) => {
  expect(kernelFault(said)).toMatchObject({
    message: expect.stringContaining(hole),
    fix: expect.stringContaining(mended),
  });
});

it.each([
  "5.15.25",
  "5.16.11",
  "6.1.37",
  "6.3.11",
  "6.4.1",
  debian("6.1.0-10-amd64", "6.1.37-1"),
  // Distributions that count for themselves mend without saying so here.
  "5.15.0-91-generic",
  "6.2.0-39-generic",
  "6.1.0-10-cloud-amd64",
  debian("6.1.0-54-amd64", "6.1.190-1"),
  debian("6.1.0-56-amd64", "6.1.192-2"),
  debian("6.1.0-56-amd64", "6.1.193-1"),
  debian("6.12.117+deb12-amd64", "6.12.117-1~bpo12+1"),
  "#1 SMP PREEMPT_DYNAMIC Debian 6.1.190-1 (2026-10-01)",
  "#1 SMP PREEMPT_DYNAMIC @0",
  "6.1.0-54-amd64",
  "6.1.0-5-amd64",
  "6.1.0-550-amd64",
  "6.1.1910",
  "6.192.0",
  "5.15.191",
  "6.18.44-fc",
  "",
  undefined,
])("PO-3 has nothing against %s", (said) => {
  expect(kernelFault(said)).toBeUndefined();
});
