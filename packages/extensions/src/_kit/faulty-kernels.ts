/** Versions with a fault that whoever is in a sandbox can reach, by the series that have or had it. */
interface FaultyKernel {
  /** First and last of each series, as kernel.org counts them; those between have it too. */
  readonly versions: readonly (readonly [first: string, last: string])[];
  /** How `uname -r` of a distribution begins that says the series alone. */
  readonly releases?: readonly string[];
  /** Of those versions, what a distribution has mended by itself, as it counts them. */
  readonly mended?: readonly string[];
  /** When this was looked up: of later versions nothing is known. */
  readonly asOf: string;
  readonly why: string;
  readonly instead: string;
}

/** The last of a series that is given up. */
const GIVEN_UP = 999;

const FAULTY_KERNELS: readonly FaultyKernel[] = [
  {
    versions: [
      ["5.15.0", "5.15.24"],
      ["5.16.0", "5.16.10"],
    ],
    asOf: "2026-11",
    why: "who can read a file can change it for everybody (CVE-2022-0847), so shared layers and this machine's programs",
    instead: "Start another kernel: 5.15.25, 5.16.11 or newer of the same series.",
  },
  {
    versions: [
      ["6.1.0", "6.1.36"],
      ["6.2.0", `6.2.${GIVEN_UP}`],
      ["6.3.0", "6.3.10"],
      ["6.4.0", "6.4.0"],
    ],
    asOf: "2026-11",
    why: "whoever maps memory can take the kernel over (CVE-2023-3269)",
    instead: "Start another kernel: 6.1.37, 6.3.11, 6.4.1 or newer of the same series.",
  },
  {
    // Seen with Debian's 6.1.192-1, and not with its 6.1.190-1 and 6.1.192-2.
    versions: [["6.1.191", "6.1.192"]],
    releases: ["6.1.0-55-"],
    mended: ["6.1.192-2"],
    asOf: "2026-11",
    why: "where memory is short, whoever makes a folder on an ext4 crashes it (NULL in ext4_mb_load_buddy_gfp)",
    instead:
      "Start another kernel: Debian's 6.1.190-1 (6.1.0-54) and 6.1.192-2 (6.1.0-56) and those of 6.12 do not have this fault.",
  },
];

/** Behind the number of the build: before it, the same word tells of the compiler. */
const COUNTS_ITSELF = /#.*\bDebian (\d+(?:\.\d+)+(?:-\d+)?)/;
/** As in 5.15.0-91-generic: which corrections are in it, its distribution alone knows. */
const SERIES_ALONE = /^\d+\.\d+\.0-\d/;

export interface KernelFault {
  readonly message: string;
  readonly fix: string;
}

/** What is known against a kernel, by /proc/version, `uname -v` or `uname -r`: whichever can be had. */
export function kernelFault(said: string | undefined): KernelFault | undefined {
  const text = said ?? "";
  const release = /^(?:Linux version )?(\d\S*)/.exec(text)?.[1] ?? "";
  // Debian's releases say the series, and what was built only behind that.
  const counted = COUNTS_ITSELF.exec(text)?.[1];
  const version = partsOf(counted ?? release);
  const isCounted = counted !== undefined || !SERIES_ALONE.test(release);
  const found = FAULTY_KERNELS.find(
    ({ versions, releases = [], mended = [] }) =>
      !mended.includes(counted ?? "") &&
      (releases.some((begin) => release.startsWith(begin)) ||
        (isCounted && versions.some(([first, last]) => isWithin(version, partsOf(first), partsOf(last))))),
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
