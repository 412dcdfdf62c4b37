import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import type { Question } from "./question.ts";
import { inSession } from "./session.ts";

const QUESTIONS: Readonly<Record<string, () => Promise<{ question: Question }>>> = {
  peers: () => import("./questions/peers.ts"),
  launch: () => import("./questions/launch.ts"),
  density: () => import("./questions/density.ts"),
  rate: () => import("./questions/rate.ts"),
  gateway: () => import("./questions/gateway.ts"),
  docker: () => import("./questions/docker.ts"),
  files: () => import("./questions/files.ts"),
  fork: () => import("./questions/fork.ts"),
  state: () => import("./questions/state.ts"),
  images: () => import("./questions/images.ts"),
  egress: () => import("./questions/egress.ts"),
  crowd: () => import("./questions/crowd.ts"),
  hogs: () => import("./questions/hogs.ts"),
  e2b: () => import("./questions/e2b.ts"),
  waist: () => import("./questions/waist.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string" }, count: { type: "string" } },
});
const name = positionals[0] ?? "peers";
const load = QUESTIONS[name];
if (!load) throw new Error(`${name} is not measured; ${Object.keys(QUESTIONS).join(", ")} are`);
const { question } = await load();
const size = wholeNumber(values.rounds ?? values.count) ?? question.size;

await inSession(async (session) => {
  const begunAt = new Date();
  const machine = describeMachine();
  const { lines, data } = await question.ask(session, size);
  session.show("");
  const folder = fileURLToPath(new URL("results/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${begunAt.toISOString().replaceAll(":", "-")}-${name}.json`);
  const report = { schema: 1, question: name, begunAt, machine, size, ...data };
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  const { processor, cores, kernel, cgroups, node, loadAverage } = machine;
  console.log(
    `${cores} × ${processor}, Linux ${kernel}, cgroups ${cgroups}, Node ${node}, load ${loadAverage}`,
  );
  for (const line of lines) console.log(line);
});

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error("give a whole number, at least 1");
  return value;
}
