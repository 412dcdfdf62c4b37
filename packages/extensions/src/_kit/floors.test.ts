import { expect, it } from "vitest";
import { belowFloor, CRUN_FLOOR, GVISOR_FLOOR, KERNEL_FLOOR, RUNC_FLOOR } from "./floors.ts";

it.each(["1.3.6", "1.3.10", "1.4.3", "1.5.0-rc.3", "1.5.0", "1.6.0-rc.1", "2.0.0", "v1.4.9"])(
  "PO-3 takes runc %s",
  (version) => {
    expect(belowFloor(version, RUNC_FLOOR)).toBeUndefined();
  },
);

it.each([
  "1.1.5+ds1",
  "1.2.8",
  "1.3.5",
  "1.3.6-rc.1",
  "1.4.0",
  "1.5.0-rc.1",
  "1.5.0~rc.2",
  "0.9",
  "odd",
  "",
  undefined,
])("PO-3 refuses runc %s", (version) => {
  expect(belowFloor(version, RUNC_FLOOR)).toMatch(/runc/);
});

it("PO-3 holds kernels to the oldest series that is mended", () => {
  for (const good of ["5.15.0-91-generic", "6.18.44-fc", "7.0.1"])
    expect(belowFloor(good, KERNEL_FLOOR)).toBeUndefined();
  for (const bad of ["5.14.21", "5.12.0", "4.19.300"]) expect(belowFloor(bad, KERNEL_FLOOR)).toMatch(/below/);
});

it("PO-3 holds gVisor to the releases of the last year", () => {
  for (const good of ["20251101.0", "20260302.1"]) expect(belowFloor(good, GVISOR_FLOOR)).toBeUndefined();
  for (const bad of ["20221219.0", "20251027.0", "", undefined])
    expect(belowFloor(bad, GVISOR_FLOOR)).toMatch(/gVisor/);
});

it("PO-3 holds crun to what leads nobody out", () => {
  for (const good of ["1.28", "1.28.1", "1.30"]) expect(belowFloor(good, CRUN_FLOOR)).toBeUndefined();
  for (const bad of ["1.8.1", "1.27", "0.21", "", undefined])
    expect(belowFloor(bad, CRUN_FLOOR)).toMatch(/crun/);
});
