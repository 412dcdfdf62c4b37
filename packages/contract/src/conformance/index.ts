import { afterAll, beforeAll, describe, it } from "vitest";
import type { ErrorCode } from "../errors.ts";
import { refuses } from "./assert.ts";
import { CASES } from "./cases.ts";
import type { Subject, SubjectSandbox } from "./subject.ts";

export type { Subject, SubjectSandbox } from "./subject.ts";

/** A case the subject refuses by design. The refusal is asserted, so a stale entry fails. */
export interface ExpectedRefusal {
  readonly reason: string;
  readonly code: ErrorCode;
}

/** Registers the whole suite with vitest, for one subject. */
export function conformance(
  name: string,
  open: () => Promise<Subject>,
  expectedRefusals: Readonly<Record<string, ExpectedRefusal>> = {},
): void {
  describe(`conformance: ${name}`, () => {
    let subject: Subject;
    let sandbox: SubjectSandbox;
    beforeAll(async () => {
      subject = await open();
      sandbox = await subject.create();
    });
    afterAll(async () => {
      if (sandbox) await subject.destroy(sandbox.id);
      await subject?.close();
    });

    for (const [group, cases] of Object.entries(CASES)) {
      describe(group, () => {
        for (const { name: title, run } of cases) {
          const refusal = expectedRefusals[title];
          if (!refusal) it(title, () => run({ subject, sandbox }));
          else
            it(`refuses (${refusal.reason}): ${title}`, () =>
              refuses(refusal.code, () => run({ subject, sandbox })));
        }
      });
    }
    const known = new Set(Object.values(CASES).flatMap((cases) => cases.map((one) => one.name)));
    it.for(Object.keys(expectedRefusals))("knows the refused case %j", (title) => {
      if (!known.has(title)) throw new Error(`no such case: ${title}`);
    });
  });
}
