import type { Command } from "commander";

interface Options {
  readonly tls?: true;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("env")
    .description("print the variables that lead another product's clients to this gateway")
    .argument("<product>", "e2b")
    .option("--tls", "by names and https, which ports inside need; names below the host must resolve")
    .option("--json", "print them as JSON")
    .addHelpText("after", '\nExample:\n  $ eval "$(sandboxer env e2b)"')
    .action(env);
}

async function env(product: string, { tls, json }: Options): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  if (product !== "e2b") {
    throw new SandboxerError("invalid_request", `${product} is not known here`, { hint: "Ask for e2b." });
  }
  const { findGateway } = await import("../connect.ts");
  const gateway = await findGateway();
  if (!gateway) {
    throw new SandboxerError("extension_unavailable", "no gateway is running", {
      hint: "Start one with `sandboxer up`, or name one with SANDBOXER_URL.",
    });
  }
  const { url, apiKey, home } = gateway;
  const named = tls
    ? await byNames(url, home)
    : { E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url };
  const variables = { E2B_API_KEY: apiKey, ...named };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  process.stdout.write(json ? `${JSON.stringify(variables)}\n` : lines.join(""));
  process.exit(0);
}

/** The certificate is in the home; node and Python each have a variable of their own for it. */
async function byNames(url: string, home: string): Promise<Record<string, string>> {
  const { loadConfig } = await import("@sandboxer/gateway");
  const { previewHost = "preview.localhost" } = await loadConfig({ home });
  const { port } = new URL(url);
  const domain = port && !previewHost.includes(":") ? `${previewHost}:${port}` : previewHost;
  if (url.startsWith("https:")) return { E2B_DOMAIN: domain };
  const certificate = `${home}/tls.pem`;
  return { E2B_DOMAIN: domain, NODE_EXTRA_CA_CERTS: certificate, SSL_CERT_FILE: certificate };
}
