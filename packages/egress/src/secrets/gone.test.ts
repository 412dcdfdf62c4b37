import { expect, it } from "vitest";
import { withFormer } from "./gone.ts";

const secret = (name: string, value?: string) => ({
  name,
  placeholder: `p-${name}`,
  bindings: [],
  ...(value !== undefined && { value }),
});

it("SE-4 remembers what each secret was, however many are taken back at once and however often one changes", () => {
  const many = Array.from({ length: 40 }, (_, at) => secret(`s${at}`, `value-${at}`));
  let former = withFormer([], [...many, secret("often", "often-0")], [secret("often", "often-1")]);
  for (let at = 1; at < 50; at += 1)
    former = withFormer(former, [secret("often", `often-${at}`)], [secret("often", `often-${at + 1}`)]);
  const values = former.map(({ value }) => value);
  for (const { value } of many) expect(values).toContain(value);
  expect(values.filter((value) => value?.startsWith("often"))).toEqual(
    [46, 47, 48, 49].map((at) => `often-${at}`),
  );
});
