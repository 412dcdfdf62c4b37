import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const BUILD = fileURLToPath(new URL("build-boxd.js", import.meta.url));

describe("build-boxd", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "build-boxd-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const build = () =>
    spawnSync(process.execPath, [BUILD], { encoding: "utf8", env: { PATH: home, CARGO_HOME: home } });
  const plantCargo = (script: string) => {
    writeFileSync(join(home, "cargo"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(home, "cargo"), 0o755);
  };

  it("lets the install succeed where there is no Rust, and says in one line how to get it", () => {
    const { status, stdout, stderr } = build();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      /^boxd needs Rust and there is no cargo: install Rust 1\.85 or newer with rustup.*\n$/,
    );
  });

  it("does the same where Rust is too old for edition 2024", () => {
    plantCargo('echo "cargo 1.63.0"');
    const { status, stdout } = build();
    expect(status).toBe(0);
    expect(stdout).toMatch(/^boxd needs Rust 1\.85 and this is cargo 1\.63\.0: .*\n$/);
  });

  it("is silent when the build succeeds", () => {
    plantCargo('[ "$1" = --version ] && echo "cargo 1.85.0" || echo "Compiling" >&2');
    expect(build()).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });

  it("shows what cargo said, and fails, when the code does not build", () => {
    plantCargo('[ "$1" = --version ] && echo "cargo 1.85.0" && exit 0; echo "error[E0308]" >&2; exit 101');
    const { status, stderr } = build();
    expect(status).toBe(1);
    expect(stderr).toBe("error[E0308]\nboxd does not build: cargo ended with 101\n");
  });
});
