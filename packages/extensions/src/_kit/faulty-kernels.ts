/** Single versions of a series that is mended, each with a fault that whoever is in a sandbox can reach. */
interface FaultyKernel {
  /** As kernel.org counts them; those between are taken to have it too. */
  readonly first: string;
  readonly last: string;
  /** How `uname -r` of a distribution begins that says the series alone. */
  readonly releases: readonly string[];
  /** When this was looked up: of later versions nothing is known. */
  readonly asOf: string;
  readonly why: string;
  readonly instead: string;
}

const FAULTY_KERNELS: readonly FaultyKernel[] = [
  {
    // Seen with Debian's 6.1.192-1, and not with its 6.1.190-1.
    first: "6.1.191",
    last: "6.1.192",
    releases: ["6.1.0-55-"],
    asOf: "2026-11",
    why: "where memory is short, whoever makes a folder on an ext4 crashes it (NULL in ext4_mb_load_buddy_gfp)",
    instead: "Start another kernel: Debian's 6.1.190 (6.1.0-54) or one of 6.12 does not have this fault.",
  },
];

export interface KernelFault {
  readonly message: string;
  readonly fix: string;
}

/** What is known against a kernel, by /proc/version, `uname -v` or `uname -r`: whichever can be had. */
export function kernelFault(said: string | undefined): KernelFault | undefined {
  const text = said ?? "";
  const release = /^(?:Linux version )?(\d\S*)/.exec(text)?.[1] ?? "";
  // Debian's releases say the series, and what was built only behind that.
  const version = partsOf(/\bDebian (\d+(?:\.\d+)+)/.exec(text)?.[1] ?? release);
  const found = FAULTY_KERNELS.find(
    ({ first, last, releases }) =>
      releases.some((begin) => release.startsWith(begin)) || isWithin(version, partsOf(first), partsOf(last)),
  );
  if (!found) return undefined;
  const name = release || version.join(".");
  return { message: `kernel ${name} is faulty: ${found.why} (as of ${found.asOf})`, fix: found.instead };
}

type Parts = readonly number[];

function partsOf(version: string): Parts {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? "").split(".").map(Number);
}

/** The bounds are of one series. */
function isWithin(version: Parts, first: Parts, last: Parts): boolean {
  const [major, minor, patch = 0] = version;
  const isOfSeries = major === first[0] && minor === first[1];
  return isOfSeries && patch >= (first[2] ?? 0) && patch <= (last[2] ?? 0);
}
