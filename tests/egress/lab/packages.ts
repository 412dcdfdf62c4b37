import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Kept between runs: the first one compiles the library. */
const GOCACHE = join(homedir(), ".cache/sandboxer-tests/go");

/** Something for each client to fetch: a repository, a package of each kind, and a program that fetches. */
export async function makePackages(dir: string, go: string): Promise<void> {
  await makeRepository(join(dir, "project.git"), join(dir, "work"));
  await mkdir(join(dir, "package"), { recursive: true });
  await writeFile(
    join(dir, "package", "package.json"),
    JSON.stringify({ name: "labpack", version: "1.0.0" }),
  );
  await run("tar", ["-czf", join(dir, "labpack-1.0.0.tgz"), "-C", dir, "package"]);
  await describeScoped(dir);
  await makeWheel(dir);
  await writeFile(join(dir, "fetch.go"), FETCH);
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    GOCACHE,
    CGO_ENABLED: "0",
    GO111MODULE: "off",
    GOFLAGS: "",
  };
  await run(go, ["build", "-o", join(dir, "fetch"), join(dir, "fetch.go")], { env });
}

/** What a registry says of a package with a scope, which npm asks for as `@lab%2fpack`. */
async function describeScoped(dir: string): Promise<void> {
  const name = "@lab/pack";
  const dist = { tarball: "https://registry.test/static/labpack-1.0.0.tgz" };
  await mkdir(join(dir, "@lab"));
  await writeFile(
    join(dir, name),
    JSON.stringify({
      name,
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": { name, version: "1.0.0", dist } },
    }),
  );
}

export async function makeRepository(bare: string, work: string): Promise<void> {
  const git = (...args: string[]) =>
    run("git", [
      "-c",
      "user.name=lab",
      "-c",
      "user.email=lab@lab.test",
      "-c",
      "init.defaultBranch=main",
      ...args,
    ]);
  await git("init", "-q", work);
  await writeFile(join(work, "README"), "from the lab\n");
  await git("-C", work, "add", ".");
  await git("-C", work, "commit", "-qm", "one");
  await git("clone", "-q", "--bare", work, bare);
  // Plain files are enough for a clone then.
  await git("-C", bare, "update-server-info");
}

async function makeWheel(dir: string): Promise<void> {
  const script = `
import zipfile, sys
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    info = "labpack-1.0.dist-info/"
    wheel.writestr("labpack.py", "answer = 42\\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: labpack\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: lab\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "")`;
  await run("python3", ["-c", script, join(dir, "labpack-1.0-py3-none-any.whl")]);
}

const FETCH = `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil || answer.StatusCode != 200 {
		fmt.Fprintln(os.Stderr, "no")
		os.Exit(1)
	}
	body, _ := io.ReadAll(answer.Body)
	fmt.Print(string(body))
}
`;
