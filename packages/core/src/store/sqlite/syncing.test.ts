import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../../test/gateway.ts";
import { openConnection } from "./open.ts";

const { temporaryFolder } = openers(onTestFinished);

const newPath = () => `${temporaryFolder()}/store.db`;

it("RE-12 syncs within the commit what nothing syncs later, and only that", async () => {
  const connection = openConnection(newPath());
  onTestFinished(() => connection.close());
  const level = () => (connection.prepare("PRAGMA synchronous").get() as { synchronous: number }).synchronous;
  const [NORMAL, FULL] = [1, 2];
  expect(connection.write(level)).toBe(FULL);
  expect(connection.commitSoon(level)).toBe(NORMAL);
  expect(await connection.commit(level)).toBe(NORMAL);
  connection.append(() => expect(level()).toBe(NORMAL));
  const fail = () => {
    expect(level()).toBe(FULL);
    throw new Error("no");
  };
  expect(() => connection.write(fail)).toThrow("no");
  expect(connection.commitSoon(level)).toBe(NORMAL);
});
