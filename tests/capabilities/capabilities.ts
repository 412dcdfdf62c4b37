import { execFile } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findCargo } from "../../scripts/cargo.js";
import { guestSystem } from "../guest/system.ts";
import { bootstrapDebian } from "../images/bootstrap.ts";
import { ensureDebianPackage } from "./debian.ts";
import { sharedDockerd } from "./shared-dockerd.ts";

const run = promisify(execFile);

/** Belongs to nobody, and unlike `nobody`'s it is not the uid that stands for unmapped ones. */
const ORDINARY_UID = 54_321;

/**
 * What a machine may lack. Each either gives what a test needs of it or throws one line that says
 * what is missing and how to get it. A new capability is one entry here.
 */
export const CAPABILITIES = {
  "linux-userns": async () => {
    await run("unshare", ["--user", "--map-root-user", "--mount", "--net", "true"]).catch(() => {
      throw new Error("user namespaces are off: `sysctl user.max_user_namespaces` must not be 0");
    });
  },
  "x86-64": async () => {
    if (process.arch !== "x64")
      throw new Error(`this is ${process.arch}: the numbers in the test are x86-64's`);
  },
  root: async () => {
    if (process.getuid?.() !== 0) throw new Error("this is not root: run the tests as root");
  },
  "ordinary-user": async () => {
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    if (uid !== 0) return { uid, gid };
    await run("true", { uid: ORDINARY_UID, gid: ORDINARY_UID }).catch(() => {
      throw new Error("root cannot change its uid here: run the tests as an ordinary user");
    });
    return { uid: ORDINARY_UID, gid: ORDINARY_UID };
  },
  /** What gives an ordinary user subordinate ids; see tests/security/lend-ids.sh. */
  "subordinate-ids": async () => {
    await CAPABILITIES.root();
    await ensureDebianPackage("uidmap");
    return { uid: ORDINARY_UID, gid: ORDINARY_UID };
  },
  boxd: async () => {
    const path = fileURLToPath(new URL("../../packages/boxd/target/release/boxd", import.meta.url));
    try {
      accessSync(path, constants.X_OK);
    } catch {
      throw new Error("boxd is not built: `npm install`, with Rust on the machine");
    }
    return { path };
  },
  cargo: async () => {
    const found = findCargo();
    if (found.problem !== undefined) throw new Error(found.problem);
    return found;
  },
  /** What security tests run inside sandboxes; see packages/boxd/examples/probe. */
  probe: async () => {
    const { cargo, env } = await CAPABILITIES.cargo();
    const cwd = fileURLToPath(new URL("../../packages/boxd", import.meta.url));
    await run(cargo, ["build", "--release", "--locked", "--example", "probe"], { cwd, env });
    return { path: `${cwd}/target/release/examples/probe` };
  },
  limits: async () => {
    await CAPABILITIES.root();
    for (const needed of ["e2fsprogs", "python3"]) await ensureDebianPackage(needed);
    for (const path of ["/sys/fs/cgroup", "/dev/loop-control"]) {
      try {
        accessSync(path, constants.W_OK);
      } catch {
        throw new Error(`${path} cannot be written: run the tests on a machine or in a privileged container`);
      }
    }
  },
  /** Stores whose files share blocks. */
  btrfs: async () => {
    await CAPABILITIES.limits();
    await ensureDebianPackage("btrfs-progs");
    await run("modprobe", ["btrfs"]).catch(() => {});
    const known = await readFile("/proc/filesystems", "utf8");
    if (!/\bbtrfs$/m.test(known)) throw new Error("this kernel has no btrfs: `modprobe btrfs` must work");
  },
  /** A Debian kernel to run things on, in a virtual machine; see tests/guest. */
  qemu: async () => {
    if (process.arch !== "x64") throw new Error(`the guest is x86-64, and this machine is ${process.arch}`);
    for (const needed of ["qemu-system-x86", "e2fsprogs", "xz-utils"]) await ensureDebianPackage(needed);
    return guestSystem();
  },
  /** A network with the guard at one end and the world at the other; see tests/egress/lab. */
  "egress-lab": async () => {
    await CAPABILITIES.root();
    for (const needed of ["iproute2", "curl", "python3", "git"]) await ensureDebianPackage(needed);
    await run("unshare", ["--net", "true"]).catch(() => {
      throw new Error("no network namespaces: run the tests as root of a machine or a privileged container");
    });
  },
  /** E2B's own packages for Python, from wherever this machine's pip has its packages. */
  "python-e2b": async () => {
    await ensureDebianPackage("python3-venv");
    return { python: join(await pythonWith("python3", "e2b", "e2b_code_interpreter"), "bin", "python3") };
  },
  /** Tables and figures for Debian's own Python, in a folder that a sandbox can be shown. */
  "python-science": async () => {
    await ensureDebianPackage("python3-venv");
    return { folder: await pythonWith("/usr/bin/python3", "pandas", "matplotlib", "plotly") };
  },
  /** What the code interpreter runs besides Python, JavaScript and bash. */
  languages: async () => {
    await ensureDebianPackage("perl");
    await ensureDebianPackage("ruby");
    await ensureDebianPackage("r-base-core");
    if (!existsSync("/usr/bin/jshell")) await ensureDebianPackage("default-jdk-headless");
  },
  /** Programs that fetch things, none of which knows of any guard. */
  "egress-clients": async () => {
    const wanted = { "python3-pip": ["/usr/bin/pip3"], npm: ["/usr/bin/npm"], "golang-go": GO };
    for (const [name, paths] of Object.entries(wanted)) {
      if (!paths.some((path) => existsSync(path))) await ensureDebianPackage(name);
    }
    return { go: GO.find((path) => existsSync(path)) ?? "go" };
  },
  /** OpenSSH, both sides of it. */
  sshd: async () => {
    await CAPABILITIES.root();
    await ensureDebianPackage("openssh-client");
    return program("openssh-server", "/usr/sbin/sshd");
  },
  bubblewrap: () => program("bubblewrap", "/usr/bin/bwrap"),
  runc: () => program("runc", "/usr/sbin/runc"),
  "docker-registry": () => program("docker-registry", "/usr/bin/docker-registry"),
  /** A small Debian with apt in it, as an archive. Kept between runs. */
  mmdebstrap: async () => {
    await CAPABILITIES.root();
    await ensureDebianPackage("mmdebstrap");
    return { archive: await bootstrapDebian() };
  },
  zsh: () => program("zsh", "/usr/bin/zsh"),
  fish: () => program("fish", "/usr/bin/fish"),
  openssl: () => program("openssl", "/usr/bin/openssl"),
  gvisor: () => program("runsc", "/usr/bin/runsc"),
  docker: async () => {
    await CAPABILITIES.root();
    await ensureDebianPackage("docker.io");
    return sharedDockerd();
  },
} satisfies Record<string, () => Promise<unknown>>;

/** As Debian has it, or as it comes from its makers. */
const GO = ["/usr/bin/go", "/usr/local/go/bin/go"];

export type Capability = keyof typeof CAPABILITIES;
export type Given<Name extends Capability> = Awaited<ReturnType<(typeof CAPABILITIES)[Name]>>;

/** In a folder of the tests' own; nothing of the machine's Python is changed. */
async function pythonWith(made: string, ...names: string[]): Promise<string> {
  const folder = join(homedir(), ".cache", "sandboxer-tests", `python-${names.join("-")}`);
  const python = join(folder, "bin", "python3");
  const works = () => run(python, ["-c", `import ${names.join(", ")}`]);
  try {
    await works();
  } catch {
    await run(made, ["-m", "venv", folder]);
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...names];
    await run(python, install, { timeout: 240_000 }).catch(() => {
      throw new Error(`pip cannot get ${names.join(", ")}: a mirror of Python's packages is needed`);
    });
    await works();
  }
  return folder;
}

async function program(debianPackage: string, path: string): Promise<{ path: string }> {
  await ensureDebianPackage(debianPackage);
  return { path };
}
