import { expect, it } from "vitest";
import { AS, readSuites, suitesScript } from "./suites.ts";

it("tells apart what suites say at the same time, and notices one that never ended", () => {
  const report = '@a {"x":1}\n@b first\nnoise\n@a ended with 0 after 12 s\n@b se';
  expect(Object.fromEntries(readSuites(report))).toEqual({
    a: { lines: ['{"x":1}'], status: 0, seconds: 12 },
    b: { lines: ["first", "se"] },
  });
});

it("starts every suite with the rights it asks for", () => {
  const script = suitesScript([{ name: "one", command: AS.user("node x.ts") }]);
  expect(script).toContain("suite one setpriv --reuid 1000 --regid 1000 --clear-groups node x.ts &");
});
