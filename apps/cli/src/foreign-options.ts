const PORTS = "`sandboxer forward` and `sandboxer preview` lead to a port inside, at any time.";
const NETWORK = "What it may reach is named by --allow and --rules.";
const INPUT = "what is typed or piped here is passed on by itself.";
const FOLDER =
  "Here a folder of yours is given by -w, and files that outlive sandboxes by `create --volume`.";

/** What makes a sandbox, in docker's words. */
const MAKING: Readonly<Record<string, string>> = {
  "-v": FOLDER,
  "--mount": FOLDER,
  "-p": PORTS,
  "--publish": PORTS,
  "--network": NETWORK,
  "--net": NETWORK,
  "-m": "Here that is --memory.",
  "--privileged": "Nothing gives a sandbox more than it has; `sudo` works inside without a password.",
};

const RUNNING: Readonly<Record<string, string>> = {
  "-i": `It needs none: ${INPUT}`,
  "--interactive": `It needs none: ${INPUT}`,
  "-it": `Here that is -t; ${INPUT}`,
  "-ti": `Here that is -t; ${INPUT}`,
  "--workdir": "Here that is --cwd.",
};

const WHOLE = "It needs none: a folder is copied with all that is in it.";
const TIME_ALONE = "The time stands alone, as in: sandboxer extend build 1h";

const LEFT = "Make one with `sandboxer create`, then `sandboxer exec -d` leaves a command running in it.";
const BY_NAME = "Here that is --stat.";
const NO_QUESTION = "It needs none: `rm` asks nobody.";

/** What other tools call an option, by our command: docker's, kubectl's and git's. */
const FOREIGN_OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: {
    ...MAKING,
    ...RUNNING,
    "--rm": "It needs none: what `run` makes goes with its command.",
    "-d": LEFT,
    "--detach": LEFT,
  },
  create: MAKING,
  exec: { ...RUNNING, "-w": "Here that is --cwd." },
  shell: {
    "-it": `It needs none: ${INPUT}`,
    "-c": "One command is run by `sandboxer exec`.",
    "-w": "Here that is --cwd.",
    "--workdir": "Here that is --cwd.",
  },
  cp: { "-r": WHOLE, "-R": WHOLE, "-a": WHOLE, "--recursive": WHOLE, "--archive": WHOLE },
  extend: { "--ttl": TIME_ALONE, "--for": TIME_ALONE, "--timeout": TIME_ALONE },
  rm: { "-f": NO_QUESTION, "--force": NO_QUESTION, "-r": NO_QUESTION, "-rf": NO_QUESTION },
  diff: { "--name-only": BY_NAME, "--name-status": BY_NAME, "--numstat": BY_NAME },
};

export function foreignOption(command: string, option: string): string | undefined {
  const known = Object.hasOwn(FOREIGN_OPTIONS, command) ? FOREIGN_OPTIONS[command] : undefined;
  return known && Object.hasOwn(known, option) ? known[option] : undefined;
}
