/** The steps of a create, between which a test ends the gateway. */
export const LOCAL_FAIL_POINTS = ["local.image", "local.connected", "local.asked", "local.answered"] as const;

export type PassLocalFailPoint = (place: (typeof LOCAL_FAIL_POINTS)[number]) => void;
