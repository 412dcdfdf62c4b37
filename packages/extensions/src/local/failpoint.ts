/** The steps of a create, between which a test ends the gateway. */
export const LOCAL_FAIL_POINTS = ["local.image", "local.connected", "local.asked", "local.answered"] as const;

/** The steps of taking an image in. */
export const IMAGE_FAIL_POINTS = [
  "image.resolved",
  "image.begun",
  "image.unpacked",
  "image.layered",
  "image.drafted",
  "image.recorded",
  "image.named",
] as const;

export type PassLocalFailPoint = (
  place: (typeof LOCAL_FAIL_POINTS | typeof IMAGE_FAIL_POINTS)[number],
) => void;
