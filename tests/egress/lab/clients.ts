import type { Sandbox } from "@sandboxer/sdk";
import { expect } from "vitest";
import type { Lab } from "./lab.ts";
import { text } from "./sandbox.ts";

type Client = (host: string) => [line: string, proof: string, is: string];

/** What each is typed as, and what there is when it worked. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  curl: (host) => [`curl -sfo a.tgz https://${host}/static/labpack-1.0.0.tgz`, "tar -tzf a.tgz", "package/"],
  git: (host) => [
    `git clone -q https://${host}/static/project.git clone`,
    "cat clone/README",
    "from the lab",
  ],
  npm: (host) => [
    `mkdir -p n && cd n && npm install --no-audit --no-fund --no-update-notifier https://${host}/static/labpack-1.0.0.tgz`,
    "cat n/node_modules/labpack/package.json",
    "labpack",
  ],
  "npm, by a name with a scope": (host) => [
    `mkdir -p n && cd n && npm install --no-audit --no-fund --no-update-notifier --registry https://${host}/static/ @lab/pack`,
    "cat n/node_modules/@lab/pack/package.json",
    "labpack",
  ],
  pip: (host) => [
    `/usr/bin/python3 -m pip install -q --target p https://${host}/static/labpack-1.0-py3-none-any.whl`,
    "cat p/labpack.py",
    "answer = 42",
  ],
  "a static program": (host) => [
    `./fetch https://${host}/static/project.git/HEAD > head`,
    "cat head",
    "ref: refs/",
  ],
};

const CLEAN = "cd && rm -rf a.tgz clone n p head";

interface Tried {
  readonly denied: { readonly tried: boolean; readonly heard: readonly string[]; readonly left: string };
  readonly allowed: { readonly worked: boolean; readonly isThere: boolean; readonly onlyRead: boolean };
}

export const REACHED: Tried = {
  denied: { tried: true, heard: [], left: "" },
  allowed: { worked: true, isThere: true, onlyRead: true },
};

/** First where it may not go, then where it may. */
export async function tryClient(lab: Lab, sandbox: Sandbox, name: string): Promise<Tried> {
  const client = CLIENTS[name] as Client;
  const run = async (line: string, timeoutMs: number) => {
    const { exit, stdout } = await sandbox.run(["sh", "-c", `cd; ${line}`], { timeoutMs });
    return { worked: exit.kind === "exited" && exit.code === 0, said: text(stdout) };
  };
  await lab.clear();
  const [refused, noProof] = client("evil.test");
  const tried = await untilDenied(sandbox, `${CLEAN}; ${refused}`);
  const heard = (await lab.look()).records.map(({ what }) => what);
  const left = (await run(noProof, 20_000)).said;
  const [line, proof, is] = client("registry.test");
  const allowed = await run(`${CLEAN}; ${line}`, 60_000);
  const isThere = (await run(proof, 20_000)).said.includes(is);
  const asked = (await lab.look()).records.filter(({ kind }) => kind === "request");
  const onlyRead = asked.length > 0 && asked.every(({ what }) => /^(?:GET|HEAD) \/static\//.test(what));
  return {
    denied: { tried, heard, left },
    allowed: { worked: allowed.worked, isThere, onlyRead },
  };
}

/** Some would go on trying for minutes: it is ended once the guard has refused it. */
async function untilDenied(sandbox: Sandbox, line: string): Promise<boolean> {
  const { calls: before } = await sandbox.networkCalls();
  const process = await sandbox.exec({ argv: ["sh", "-c", line] });
  const isDenied = async () => {
    const { calls } = await sandbox.networkCalls(before.at(-1)?.seq ?? 0);
    return calls.some(({ host, verdict }) => host === "evil.test" && verdict === "denied");
  };
  const isTried = await expect
    .poll(isDenied, { timeout: 60_000 })
    .toBe(true)
    .then(
      () => true,
      () => false,
    );
  // It may be over by itself.
  await process.signal("KILL").catch(() => {});
  for await (const _ of process.events);
  return isTried;
}
