import { readFile } from "node:fs/promises";
import { collect, execRequestSchema, newSandboxId } from "@sandboxer/contract";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { inParts, openLab } from "./lab.ts";

/** Runs as a program of its own under another uid: takes an image in, uses it, removes it, and says how that went. */
const [, , archive = ""] = process.argv;
const lab = await openLab();
const { owners, stripped } = await lab.images.import(inParts(await readFile(archive)), {
  name: "tools",
  kind: "rootfs",
});
const image = { kind: "oci", ref: "tools" } as const;
const box = await lab.extension.create(
  { ...PLAIN_SPEC, image },
  { ...lab.context, sandboxId: newSandboxId() },
);
const said = async (script: string, user?: string) => {
  const request = execRequestSchema.parse({ argv: ["sh", "-c", script], ...(user && { user }) });
  const { stdout, stderr } = await collect(await box.exec(request, "att"));
  return Buffer.concat([stdout, stderr]).toString().trim();
};
const asUser = await said("id -un; stat -c %u:%g /of-seven /bin; cat /of-seven; touch ~/mine && ls -A ~");
const asRoot = await said("id -u; chown 9:9 /of-seven && stat -c %u /of-seven", "root").catch(
  ({ code }) => code as string,
);
await lab.extension.destroy(box.ref, lab.context);
await lab.images.remove("tools");
const left = await lab.left();
await lab.close();
console.log(JSON.stringify({ owners, stripped, asUser: asUser.split("\n"), asRoot, left }));
