import { kernelFault } from "../../packages/extensions/src/_kit/faulty-kernels.ts";

/** `linux-image-6.1.0-55-amd64`: the series, and how often it was built anew. */
const NAME = /^linux-image-(\d+\.\d+\.\d+-(\d+)-amd64)$/;

/**
 * The kernel that guests are started with: the one that Debian means today or, where a fault of it is
 * known, the one of the same series before it. A guest that crashes by itself tells nothing.
 */
export function kernelPackage(meant: string, known: readonly string[]): string {
  const series = (name: string) => NAME.exec(name)?.[1]?.split("-")[0];
  const build = (name: string) => Number(NAME.exec(name)?.[2]);
  const found = [meant, ...known]
    .filter((name) => series(name) === series(meant) && build(name) <= build(meant))
    .sort((one, other) => build(other) - build(one))
    .find((name) => !kernelFault(NAME.exec(name)?.[1]));
  // A kernel that is named in another way is taken as it is.
  if (series(meant) === undefined) return meant;
  if (found === undefined) throw new Error(`apt knows no kernel beside ${meant} that is not faulty`);
  return found;
}
