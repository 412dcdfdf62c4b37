import { expect, it } from "vitest";
import { kernelPackage } from "./kernel-package.ts";

const image = (build: number, flavour = "") => `linux-image-6.1.0-${build}-${flavour}amd64`;

it("takes the kernel that Debian means", () => {
  expect(kernelPackage(image(54), [image(53), image(54), image(52)])).toBe(image(54));
  expect(kernelPackage(image(54), []), "whether or not apt lists it").toBe(image(54));
  expect(kernelPackage("linux-image-7.1-amd64", [image(54)])).toBe("linux-image-7.1-amd64");
});

it("takes the one before it where that one is faulty", () => {
  const known = [
    image(9),
    image(53),
    image(54, "cloud-"),
    image(54),
    image(55),
    "linux-image-6.12.1+deb12-amd64",
  ];
  expect(kernelPackage(image(55), known)).toBe(image(54));
  expect(() => kernelPackage(image(55), [])).toThrow("not faulty");
});
