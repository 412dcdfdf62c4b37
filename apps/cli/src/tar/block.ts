export const BLOCK = 512;

/** How many bytes follow `size` to fill its last block. */
export const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;
