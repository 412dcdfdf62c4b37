import { describe, expect, it } from "vitest";
import { ERROR_CODES, ERRORS, isErrorCode, SandboxerError } from "./errors.ts";

describe("the error table", () => {
  it.for(ERROR_CODES)("%s has a status, an exit code and a hint", (code) => {
    const { status, exitCode, hint } = ERRORS[code];
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect(exitCode).toBeGreaterThan(0);
    expect(exitCode).toBeLessThan(128);
    expect(hint).toMatch(/\.$/);
  });

  it("fails over only on what the extension is to blame for", () => {
    const failingOver = ERROR_CODES.filter((code) => ERRORS[code].failover);
    expect(failingOver.map((code) => ERRORS[code].by)).toEqual(failingOver.map(() => "extension"));
  });

  it("knows its own codes and no others", () => {
    expect(isErrorCode("not_found")).toBe(true);
    expect(isErrorCode("toString")).toBe(false);
  });
});

describe("SandboxerError", () => {
  it("recognises itself across copies of the package", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("sandboxer.error")]: true });
    expect(SandboxerError.is(foreign)).toBe(true);
    expect(SandboxerError.is(new Error("x"))).toBe(false);
  });

  it("turns what is not ours into `internal`, keeping the cause", () => {
    const cause = new TypeError("boom");
    const error = SandboxerError.from(cause);
    expect([error.code, error.cause]).toEqual(["internal", cause]);
    expect(SandboxerError.from(error)).toBe(error);
  });
});
