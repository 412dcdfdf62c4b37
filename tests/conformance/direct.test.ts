import { conformance } from "@sandboxer/contract/conformance";
import { requires } from "../capabilities/requires.ts";
import { openDirect } from "./direct.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("ring one", () => conformance("local, directly", openDirect));
