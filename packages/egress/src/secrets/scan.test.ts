import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { formsOf } from "./forms.ts";
import { findFirst, type Needle, replaceIn } from "./scan.ts";

const SECRET = "sk-ant-api03-/Zq+9 wX&=%\"\\kLm<'>(NoP0123456789";
const needles = formsOf(SECRET).map(({ bytes, kind }) => ({ bytes, means: kind }));

async function* pieces(bytes: Buffer, ...cuts: number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

async function through(bytes: Buffer, ...cuts: number[]): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of replaceIn(pieces(bytes, ...cuts), needles, () => Buffer.from("§", "latin1")))
    parts.push(part);
  return Buffer.concat(parts).toString("latin1");
}

/** The ways in which programs write a secret into a request. */
const WRITTEN: Record<string, string> = {
  raw: SECRET,
  json: JSON.stringify({ key: SECRET }),
  "json, as PHP writes it": JSON.stringify({ key: SECRET }).replaceAll("/", "\\/"),
  "json, as Go writes it": JSON.stringify({ key: SECRET })
    .replaceAll("&", "\\u0026")
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e"),
  html: SECRET.replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#x27;"),
  url: encodeURIComponent(SECRET),
  "url, with its slashes": encodeURIComponent(SECRET).replaceAll("%2F", "/"),
  "url, with every sign": encodeURIComponent(SECRET).replaceAll("'", "%27").replaceAll("(", "%28"),
  hex: Buffer.from(SECRET).toString("hex"),
  HEX: Buffer.from(SECRET).toString("hex").toUpperCase(),
  base64: Buffer.from(SECRET).toString("base64"),
  "base64 of more, by one": Buffer.from(`u:${SECRET}:`).toString("base64"),
  "base64 of more, by two": Buffer.from(`us:${SECRET}x`).toString("base64"),
  base64url: Buffer.from(`a${SECRET}`).toString("base64url"),
};

it.each(Object.entries(WRITTEN))("EG-18 finds a secret at every cut: %s", async (_, written) => {
  const bytes = Buffer.from(`before ${written} after`, "latin1");
  const whole = await through(bytes);
  expect(whole).toContain("§");
  expect(findFirst(Buffer.from(whole, "latin1"), needles)).toBeUndefined();
  for (let cut = 0; cut <= bytes.length; cut++)
    expect(await through(bytes, cut), `cut at ${cut}`).toBe(whole);
  for (let size = 1; size <= 3; size++) {
    const cuts = Array.from({ length: Math.floor(bytes.length / size) }, (_, at) => (at + 1) * size);
    expect(await through(bytes, ...cuts), `pieces of ${size}`).toBe(whole);
  }
});

it("leaves everything else as it is", async () => {
  const bytes = randomBytes(100_000);
  expect(await through(bytes, 1, 70, 4_000)).toBe(bytes.toString("latin1"));
  const almost = Buffer.from(`${SECRET.slice(0, -1)}! ${SECRET.slice(1)}`, "latin1");
  expect(await through(almost, 10, 41)).toBe(almost.toString("latin1"));
});

it("EG-18 SE-3 takes what holds a shorter one for the longer, wherever it is cut", async () => {
  const nested = ["sk-0123456789-rest", "0123456789"].map((one) => ({ bytes: Buffer.from(one), means: one }));
  const found = async (text: string, ...cuts: number[]) => {
    const means: string[] = [];
    const note = (needle: Needle<string>) => {
      means.push(needle.means);
      return needle.bytes;
    };
    for await (const _ of replaceIn(pieces(Buffer.from(text), ...cuts), nested, note));
    return means;
  };
  const own = "it is sk-0123456789-rest.";
  for (let cut = 0; cut <= own.length; cut++) {
    expect(await found(own, cut), `cut at ${cut}`).toEqual(["sk-0123456789-rest"]);
    expect(await found("it is sk-0123456789-resX", cut), "control: the shorter alone").toEqual([
      "0123456789",
    ]);
  }
});
