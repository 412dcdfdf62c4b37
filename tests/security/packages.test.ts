import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { openEngine, shell } from "./engine.ts";

const { describe, given } = await requires("linux-userns", "boxd", "root", "subordinate-ids");

const { describe: describeClients, given: tools } = await requires("linux-userns", "boxd", "egress-clients");

const CONTROL = [
  "Package: tiny",
  "Version: 1",
  "Architecture: all",
  "Maintainer: nobody <nobody@localhost>",
  "Description: a file that changes hands",
].join("\\n");

/** A package with a script that runs as root, in a repository of one, and what apt needs around it. */
const PREPARE = `
set -e; cd /tmp; mkdir -p tiny/DEBIAN tiny/opt/tiny repository
printf '${CONTROL}\\n' > tiny/DEBIAN/control
echo hi > tiny/opt/tiny/file
printf '#!/bin/sh\\nset -e\\nchown nobody:user /opt/tiny/file\\nid -u > /opt/tiny/by\\n' > tiny/DEBIAN/postinst
chmod 755 tiny/DEBIAN/postinst
dpkg-deb --root-owner-group -b tiny repository/tiny.deb >/dev/null
cd repository
printf '${CONTROL}\\nFilename: ./tiny.deb\\nSize: %s\\nSHA256: %s\\n' \\
  $(stat -c %s tiny.deb) $(sha256sum tiny.deb | cut -d' ' -f1) > Packages
sudo mkdir -p /etc/apt/apt.conf.d /etc/apt/preferences.d /etc/apt/trusted.gpg.d /var/log/apt \\
  /var/lib/apt/lists/partial /var/cache/apt/archives/partial /var/lib/dpkg/info /var/lib/dpkg/updates
sudo touch /var/lib/dpkg/status /var/lib/dpkg/available
echo '_apt:x:42:65534::/nonexistent:/usr/sbin/nologin' | sudo tee -a /etc/passwd >/dev/null
echo 'deb [trusted=yes] file:/tmp/repository ./' | sudo tee /etc/apt/sources.list >/dev/null
`;

describe("packages", () => {
  for (const mode of ["root", "a user with subordinate ids"] as const) {
    it(`are installed by sudo apt-get, engine run by ${mode}`, async () => {
      const lent = mode === "root" ? {} : { owner: given["subordinate-ids"], lentFrom: 700_000 };
      const engine = await openEngine({ boxdPath: given.boxd.path, ...lent });
      try {
        const box = await engine.create();
        const prepared = await shell(box, PREPARE, { timeoutMs: 60_000 });
        expect(prepared, prepared.errors).toMatchObject({ exit: { kind: "exited", code: 0 } });
        const install = "sudo apt-get -q update && sudo apt-get -q -y install tiny";
        const installed = await shell(box, install, { timeoutMs: 60_000 });
        expect(installed.exit, installed.text + installed.errors).toEqual({ kind: "exited", code: 0 });
        const seen = await shell(box, "stat -c '%U %G' /opt/tiny/file; cat /opt/tiny/by; dpkg -s tiny");
        expect(seen.text).toMatch(/^nobody user\n0\nPackage: tiny\nStatus: install ok installed\n/);
      } finally {
        await engine.close();
      }
    }, 300_000);
  }
});

/** The smallest thing that pip takes for a package. */
const WHEEL = `
import zipfile
info = "tiny-1.0.dist-info/"
with zipfile.ZipFile("/tmp/tiny-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "answer = 42\\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "")`;

describeClients("packages of a language", () => {
  it("are installed by pip as on a machine of one's own, into the home", async () => {
    const engine = await openEngine({ boxdPath: tools.boxd.path });
    try {
      const box = await engine.create();
      const install = `/usr/bin/python3 -c '${WHEEL}' && /usr/bin/python3 -m pip install -q --no-index /tmp/tiny-1.0-py3-none-any.whl`;
      const installed = await shell(box, install, { timeoutMs: 60_000 });
      expect(installed.exit, installed.errors).toEqual({ kind: "exited", code: 0 });
      const used = await shell(
        box,
        "cd /; /usr/bin/python3 -c 'import tiny; print(tiny.answer, tiny.__file__)'",
      );
      expect(used.text).toMatch(/^42 \/home\/user\/\.local\//);
      // Control: where the system's packages are marked as its own, pip refuses without a word from us.
      const { text: marks } = await shell(box, "ls /usr/lib/python3*/EXTERNALLY-MANAGED");
      const alone = { env: { PIP_CONFIG_FILE: "/dev/null" }, timeoutMs: 60_000 };
      const again = await shell(box, `${install} --force-reinstall`, alone);
      expect(again.errors.includes("externally-managed-environment")).toBe(marks !== "");
    } finally {
      await engine.close();
    }
  }, 300_000);
});
