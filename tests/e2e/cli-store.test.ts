import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Stored, StoreReport } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { busyboxLayer, layoutArchive, makeImage } from "../images/image-maker.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const MIB = 2 ** 20;

describe("store, from the command line", () => {
  let place: string;
  let cli: ReturnType<typeof cliOf>;
  const ids = new Map<string, string>();
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(args);
    expect(code, `${args.join(" ")}: ${stderr}`).toBe(0);
    return stdout.trim();
  };
  const report = async (): Promise<StoreReport> => JSON.parse(await said("store", "--json"));
  const found = ({ stored }: StoreReport, kind: string): Stored[] =>
    stored.filter((one) => one.kind === kind).sort((a, b) => b.bytes - a.bytes);

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-store-"));
    cli = cliOf(join(place, "home"));
    const base = await busyboxLayer();
    const more = [{ name: "more", content: "x".repeat(MIB) }];
    for (const [name, layers] of [
      ["plain", [base]],
      ["more", [base, more]],
    ] as const) {
      await writeFile(join(place, name), layoutArchive(makeImage({ layers })));
      await said("images", "import", join(place, name), "--name", name);
    }
    const setup = { schema: 1, name: "tools", image: { kind: "oci", ref: "plain" } };
    const steps = [["sudo", "sh", "-c", "head -c 2097152 /dev/urandom > /tool"]];
    await writeFile(join(place, "tools.json"), JSON.stringify({ ...setup, setup: steps }));
    await said("profiles", "publish", join(place, "tools.json"));
    ids.set("made", await said("create", "--name", "made", "--profile", "tools"));
    // What the first wrote is kept, and the next one lies on that.
    ids.set("again", await said("create", "--name", "again", "--profile", "tools"));
    ids.set("volume", await said("volumes", "create", "cache"));
    ids.set("user", await said("create", "--name", "user", "--volume", "cache:/cache"));
    await said("exec", "user", "--", "sh", "-c", "head -c 3145728 /dev/urandom > /cache/large");
    await said("snapshot", "made", "--name", "point");
  });
  afterAll(() => removeEngine(join(place, "home/engine"), place));

  it("shows everything that takes room, what each takes once, and who needs it", async () => {
    const all = await report();
    const images = found(all, "image");
    expect(images.map(({ note }) => note).sort()).toEqual(["more:latest", "plain:latest"]);
    const [plain, more] = ["plain:latest", "more:latest"].map((name) =>
      images.find(({ note }) => note === name),
    );
    expect([...(plain?.usedBy ?? [])].sort()).toEqual([ids.get("made"), ids.get("again")].sort());
    expect(more).toMatchObject({ usedBy: [], prunable: false });
    // What both have is counted for the first of them.
    const bytes = [plain?.bytes ?? 0, more?.bytes ?? 0].sort((a, b) => b - a);
    expect(bytes[1]).toBeLessThan(bytes[0] as number);
    expect(bytes[1]).toBeGreaterThanOrEqual(MIB);
    expect(bytes[1]).toBeLessThan(1.5 * MIB);
    const [setup, ...others] = found(all, "setup");
    expect([setup?.usedBy, others]).toEqual([[ids.get("again")], []]);
    expect(setup?.bytes).toBeGreaterThanOrEqual(2 * MIB);
    const [volume] = found(all, "volume");
    expect(volume).toMatchObject({ note: "cache", usedBy: [ids.get("user")], prunable: false });
    expect(volume?.bytes).toBeGreaterThanOrEqual(3 * MIB);
    expect(found(all, "snapshot")).toMatchObject([{ note: "point" }]);
    expect(found(all, "sandbox")).toHaveLength(3);
    expect(all.bytes).toBe(all.stored.reduce((sum, one) => sum + one.bytes, 0));
  });

  it("is a table, the largest first, with the sum below", async () => {
    const lines = (await said("store")).split("\n");
    expect(lines[0]).toMatch(/^KIND +ID +SIZE +USED BY/);
    expect(lines.at(-1)).toMatch(/^\d+\.\d MiB in all$/);
    const rows = lines.slice(1, -1);
    expect(rows.map((row) => row.split(" ")[0]).sort()).toEqual([
      "image",
      "image",
      "sandbox",
      "sandbox",
      "sandbox",
      "setup",
      "snapshot",
      "volume",
    ]);
    const sizes = rows.map((row) => Number(/ (\d+\.\d) MiB/.exec(row)?.[1]));
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(rows.find((row) => row.startsWith("volume"))).toMatch(new RegExp(`${ids.get("user")} +cache$`));
  });

  it("prunes what nobody needs, and says first what that would be", async () => {
    const id = await said("snapshot", "made");
    const dry = async (): Promise<string[]> =>
      (JSON.parse(await said("store", "prune", "--dry-run", "--json")) as StoreReport).stored.map(
        (one) => one.id,
      );
    expect(await dry(), "its sandbox lives").toEqual([]);
    await said("rm", "made");
    expect(await dry()).toEqual([id]);
    expect(found(await report(), "snapshot")).toHaveLength(2);
    expect(await said("store", "prune")).toContain(id);
    expect(found(await report(), "snapshot")).toMatchObject([{ note: "point" }]);
    await said("rm", "user", "again");
    await said("volumes", "rm", "cache");
    expect(found(await report(), "volume")).toEqual([]);
  });
});
