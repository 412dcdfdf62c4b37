import { type Command, Option } from "commander";
import { portNumber } from "../arguments.ts";

/** Of each kind that is asked for: the next who asks for the same finds one ready. */
const MADE_AHEAD = 1;

interface Options {
  readonly port?: number;
  readonly host?: string;
  readonly config?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly insecure?: true;
  readonly log?: "json" | "text";
  readonly logFile?: string;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("up")
    .description("start the gateway on this machine")
    .option("--port <number>", "where to listen, 0 for any (default: 7070, or SANDBOXER_PORT)", portNumber)
    .option("--host <address>", "on which address (default: 127.0.0.1)")
    .option("--tls-cert <file>", "a certificate, to listen beyond this machine")
    .option("--tls-key <file>", "and its key")
    .option("--insecure", "listen beyond this machine without TLS: keys travel in the clear")
    .option("--config <file>", "read this configuration (default: config.yaml in the home)")
    .addOption(new Option("--log <format>", "how to write the log").choices(["json", "text"]))
    .option("--log-file <file>", "write the log there instead of to standard error")
    .option("--json", "print {url, apiKey} once ready, and nothing else")
    .addHelpText("after", "\nExample:\n  $ sandboxer up --port 7070")
    .action(up);
}

async function up(options: Options): Promise<void> {
  const { config: file, json } = options;
  const { loadConfig, openGateway, untilSignal } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  const home = homeDirectory();
  const config = await loadConfig({ home, file, flags: flagsOf(options) });
  const { listen, tls, insecure } = config;
  const { pool = MADE_AHEAD } = config;
  const gateway = await openGateway({ home, config, pool, listen: { ...listen, tls, insecure } });
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  // Before anybody is told that it is ready: a signal may follow at once.
  const ended = untilSignal(gateway, json ? () => {} : say);
  say(json ? JSON.stringify({ url: gateway.url, apiKey: gateway.apiKey }) : welcome(gateway.url ?? "", home));
  await ended;
  process.exit(0);
}

/** Only what was said: the rest is the environment's, the file's, or as ever. */
function flagsOf({ port, host, tlsCert, tlsKey, insecure, log, logFile }: Options) {
  return {
    listen: { ...(port !== undefined && { port }), ...(host !== undefined && { host }) },
    ...((tlsCert || tlsKey) && { tls: { cert: tlsCert ?? "", key: tlsKey ?? "" } }),
    ...(insecure && { insecure }),
    log: { ...(log && { format: log }), ...(logFile && { file: logFile }) },
  };
}

/** Every line can be pasted as it is. */
function welcome(url: string, home: string): string {
  const inEnvironment = Boolean(process.env.SANDBOXER_API_KEY);
  const file = `${home}/root.key`;
  const key = inEnvironment ? "$SANDBOXER_API_KEY" : `$(cat ${quote(file)})`;
  const keyInCode = inEnvironment
    ? "process.env.SANDBOXER_API_KEY"
    : `readFileSync(${JSON.stringify(file)}, "utf8").trim()`;
  // npm sets it for `npm start` and `npx`: then the program is on no other terminal's PATH.
  const program = process.env.npm_execpath ? "npx sandboxer" : "sandboxer";
  const itsHome = process.env.SANDBOXER_HOME ? `SANDBOXER_HOME=${quote(home)} ` : "";
  return `sand-boxer listens on ${url}
The key is ${inEnvironment ? "the one in SANDBOXER_API_KEY" : `in ${file}`}

In another terminal:
  ${itsHome}${program} run -- echo hello
  curl -X POST ${url}/v1/sandboxes -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{}'
From TypeScript:
  import { readFileSync } from "node:fs";
  import { createClient } from "@sandboxer/sdk";
  const client = createClient({ url: "${url}", apiKey: ${keyInCode} });
  console.log(await (await client.sandboxes.create()).run(["echo", "hello"]));

Ctrl-C ends the gateway.`;
}

function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
