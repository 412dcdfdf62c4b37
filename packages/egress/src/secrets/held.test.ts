import { expect, it } from "vitest";
import { openBook } from "./book.ts";
import { passGate } from "./gate.ts";
import { Held } from "./held.ts";
import { Refused } from "./stopped.ts";

const ID = "AKIAPLACEHOLDER";
const word = (placeholder: string) => ({ placeholder, value: `real-${placeholder}` });
const book = openBook([
  {
    ...word(ID),
    name: "AWS",
    bindings: [{ host: "s3.test", ports: [443], place: { in: "aws-sigv4", region: "r", service: "s3" } }],
    signer: { secret: word("SECRETPLACEHOLDER"), token: { placeholder: "TOKENPLACEHOLDER" } },
  },
]);

/** A request whose body has to be there as a whole before it can be signed. */
function signed(held: Held) {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const scope = `${ID}/${time.slice(0, 8)}/r/s3/aws4_request`;
  const words = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=${"0".repeat(64)}`;
  const headers: [string, string][] = [
    ["Host", "s3.test"],
    ["X-Amz-Date", time],
    ["Authorization", words],
  ];
  const users = { shared: [], sharedSecrets: [], own: [] };
  const parts = { known: () => ({ book }), users, uid: 0, scheme: "https" as const, held };
  const asked = {
    scheme: "https" as const,
    host: "s3.test",
    port: 443,
    method: "PUT",
    path: "/x",
    query: "",
  };
  return passGate(parts, asked, { method: "PUT", target: "/x", version: "HTTP/1.1", headers });
}

async function* body(bytes: number): AsyncGenerator<Buffer> {
  for (let left = bytes; left > 0; left -= 1) yield Buffer.from("x");
}

it("EG-21 of bodies that wait to be signed so much waits in all, until others are gone", async () => {
  const held = new Held(10);
  const [first, second, third] = [await signed(held), await signed(held), await signed(held)];
  expect((await first.body(body(6))).whole?.came).toHaveLength(6);
  expect((await second.body(body(4))).whole?.came, "as much as may be").toHaveLength(4);
  await expect(third.body(body(1))).rejects.toBeInstanceOf(Refused);
  second.release?.();
  expect((await third.body(body(4))).whole?.came, "control").toHaveLength(4);
  for (const one of [first, second, third]) one.release?.();
  expect((await (await signed(held)).body(body(10))).whole?.came, "nothing is left behind").toHaveLength(10);
});
