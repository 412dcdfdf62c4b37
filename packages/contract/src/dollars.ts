/** Cents where they suffice, micro-dollars where something would be lost. */
export function dollars(microUsd: number): string {
  const exact = (microUsd / 1_000_000).toFixed(6);
  return `$${exact.replace(/0{1,4}$/, "")}`;
}
