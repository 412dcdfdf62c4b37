import { Sandbox } from "@e2b/code-interpreter";
import { afterAll, beforeAll } from "vitest";
import { type Door, openDoor } from "./door.ts";

export interface Interpreting {
  readonly door: Door;
  readonly sandbox: Sandbox;
  /** The gateway ends, another one takes its home, and its client finds the sandbox there. */
  changeGateway(): Promise<void>;
}

/** One sandbox of E2B's code interpreter for all tests of a file. */
export function interpreting(): Interpreting {
  let door: Door;
  let sandbox: Sandbox;
  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create(door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });
  return {
    get door() {
      return door;
    },
    get sandbox() {
      return sandbox;
    },
    async changeGateway() {
      await door.gateway.close();
      door = await openDoor(door.home);
      sandbox = await Sandbox.connect(sandbox.sandboxId, door.options);
    },
  };
}
