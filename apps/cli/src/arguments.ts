import type { Reuse } from "@sandboxer/contract";
import { InvalidArgumentError } from "commander";

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `90s`, `1h30m`, `500ms`; a number alone is seconds. */
export function durationMs(text: string): number {
  const wrong = () => new InvalidArgumentError("Give a time such as 90s, 30m or 1h30m.");
  if (/^\d+(?:\.\d+)?$/.test(text)) return positive(Math.round(Number(text) * 1_000), wrong);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) throw wrong();
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (UNITS_MS[unit as string] as number);
  }
  return positive(Math.round(total), wrong);
}

function positive(value: number, wrong: () => Error): number {
  if (!Number.isSafeInteger(value) || value <= 0) throw wrong();
  return value;
}

/** `NAME=value`, or `NAME` alone for this shell's own value. Given again, it adds. */
export function variable(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const cut = text.indexOf("=");
  const name = cut < 0 ? text : text.slice(0, cut);
  if (name === "") throw new InvalidArgumentError("Give a variable as NAME=value.");
  const value = cut < 0 ? process.env[name] : text.slice(cut + 1);
  if (value === undefined)
    throw new InvalidArgumentError(`${name} is not set in this shell; give ${name}=value.`);
  return { ...before, [name]: value };
}

export function label(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const cut = text.indexOf("=");
  if (cut < 1) throw new InvalidArgumentError("Give a label as key=value.");
  return { ...before, [text.slice(0, cut)]: text.slice(cut + 1) };
}

/** `512`, `512M`, `2g`, `2GiB`; a number alone is MiB. */
export function mebibytes(text: string): number {
  const wrong = () => new InvalidArgumentError("Give a size such as 512M or 2G.");
  const [, amount, unit] = /^(\d+)(?:([MG])(?:i?B)?)?$/i.exec(text) ?? [];
  return positive(Number(amount) * (unit?.toUpperCase() === "G" ? 1_024 : 1), wrong);
}

export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number, at least 1.");
}

export function processors(text: string): number {
  const count = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(count > 0)) throw new InvalidArgumentError("Give a number of processors such as 0.5 or 2.");
  return count;
}

export function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("A port is a number from 0 to 65535.");
  return port;
}

/** `a,b,c`; nothing between two commas is nothing. */
export function list(text: string): string[] {
  return text.split(",").flatMap((part) => part.trim() || []);
}

/** Dollars as people write them, to whole micro-dollars. */
export function microUsd(text: string): number {
  const [, whole = "", part = ""] = /^\$?(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === "") throw new InvalidArgumentError("Give an amount in dollars such as 2.50.");
  return Number(whole) * 1_000_000 + Number(part.padEnd(6, "0"));
}

/** `agent:build`: which sandbox to come back to. */
export function reuse(text: string): Reuse {
  const [, scope, key = ""] = /^(session|agent|shared):(.+)$/.exec(text) ?? [];
  if (!scope) throw new InvalidArgumentError("Give a label such as session:42, agent:build or shared:ci.");
  return { scope: scope as Reuse["scope"], key };
}

type Mounts = { readonly volume: string; readonly target: string }[];

/** `cache:/home/user/.cache`, as often as it is said. */
export function volume(text: string, before: Mounts = []): Mounts {
  const [, name, target] = /^([^:]+):(\/.+)$/.exec(text) ?? [];
  if (!name || !target) throw new InvalidArgumentError("Give a volume as name:/path/inside.");
  return [...before, { volume: name, target }];
}
