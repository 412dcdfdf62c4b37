import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { schemasLater } from "./later.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCE = `
import { z } from "zod";
export const made: string[] = [];
const noted = <T>(name: string, schema: T): T => { made.push(name); return schema; };
export const nameSchema = noted("name", z.string().max(3));
export const boxSchema = noted("box", z.strictObject({ name: nameSchema, size: z.int().default(1) })) as unknown as z.ZodType;
export const manySchema = noted("many", z.array(boxSchema));
export const firstSchema = noted("union", z.union([nameSchema, z.int()])).options[0];
export const isString = (schema: unknown) => schema instanceof z.ZodString;
export const makeSchema = () => z.string();
`;

describe("schemas of the bundle", () => {
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-later-"));
  const zod = globalThis as { __zod_globalConfig?: object | undefined };
  const before = zod.__zod_globalConfig;
  const load = (jitless: boolean) => {
    zod.__zod_globalConfig = { jitless };
    const require = createRequire(import.meta.url);
    delete require.cache[join(dir, "bundle.cjs")];
    return require(join(dir, "bundle.cjs"));
  };

  beforeAll(async () => {
    writeFileSync(join(dir, "source.ts"), SOURCE);
    await build({
      input: join(dir, "source.ts"),
      platform: "node",
      logLevel: "silent",
      resolve: { alias: { zod: join(ROOT, "node_modules/zod") } },
      plugins: [schemasLater(parseAst)],
      output: { file: join(dir, "bundle.cjs"), format: "cjs" },
    });
  });
  afterEach(() => {
    zod.__zod_globalConfig = before;
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("are made by a short command when they are looked at, and once", () => {
    const { made, boxSchema, manySchema } = load(true);
    expect(made).toEqual([]);
    expect(boxSchema.parse({ name: "a" })).toEqual({ name: "a", size: 1 });
    expect(made).toEqual(["box", "name"]);
    expect(manySchema.safeParse([{ name: "long" }]).error.issues[0].path).toEqual([0, "name"]);
    expect(made).toEqual(["box", "name", "many"]);
  });

  it("are made by a gateway at once", () => {
    expect(load(false).made).toEqual(["name", "box", "many", "union"]);
  });

  it("are what they would have been", () => {
    for (const jitless of [true, false]) {
      const { nameSchema, firstSchema, isString, makeSchema, boxSchema } = load(jitless);
      expect([isString(nameSchema), isString(firstSchema), isString(boxSchema)]).toEqual([true, true, false]);
      expect(nameSchema.optional().parse(undefined)).toBeUndefined();
      expect("parse" in nameSchema).toBe(true);
      expect(makeSchema().parse("x")).toBe("x");
    }
  });
});
