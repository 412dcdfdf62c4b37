import { facetProblems } from "@sandboxer/contract";
import { conformance } from "@sandboxer/contract/conformance";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { openDirect } from "./direct.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("ring one", () => conformance("local, directly", openDirect));

it("has a facet if and only if its manifest lists it", () => {
  const extension = createLocalExtension({ dir: "/nowhere" });
  expect(facetProblems(extension)).toEqual([]);
  const { pause, ...without } = extension;
  expect(facetProblems(without), "control").toEqual(["lists pause, and does not have it"]);
  const unlisted = { ...extension, manifest: { ...extension.manifest, facets: [] } };
  expect(facetProblems(unlisted), "control").toHaveLength(5);
});
