import { type GuardedSecret, parseHostPattern, type SecretBinding } from "@sandboxer/contract";
import { compilePath, readingsOf } from "../policy/path.ts";
import { formsOf } from "./forms.ts";
import type { Loss } from "./loss.ts";
import { FOREIGN } from "./mark.ts";
import type { Needle } from "./scan.ts";

/** Where in a request something stands. */
export type Place = Extract<SecretBinding["place"], { name: string }>;

/** What a signature is for. */
type Scope = Extract<SecretBinding["place"], { in: "aws-sigv4" }>;

/** A request, as far as it decides what may be put into it. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

export interface BookedSecret {
  readonly name: string;
  readonly placeholder: string;
  readonly value?: string | undefined;
  readonly isBoundTo: (host: string, port: number) => boolean;
  /** Whether this is the one cell, or one of the cells, that it may be put into. */
  readonly fits: (to: Destination, place: Place) => boolean;
  readonly hasBodyCell: (to: Destination) => boolean;
  /** Of a key that signs: what it signs with, and whether it does so there. */
  readonly signer?: GuardedSecret["signer"];
  readonly signsFor: (to: Destination, scope: Pick<Scope, "region" | "service">) => boolean;
}

/** What stands inside for a value. */
export type Word = Pick<GuardedSecret, "placeholder" | "value">;

/** The secrets of one sandbox, ready to be looked for. */
export interface Book {
  readonly secrets: readonly BookedSecret[];
  isBoundTo(host: string, port: number): boolean;
  /** Every form of every placeholder, its own or not, and of every value: none of it leaves by itself. */
  readonly losses: readonly Needle<Loss>[];
  /** Every form of every value, with what stands for it inside. */
  readonly masks: readonly Needle<Buffer>[];
}

/** `former`: what is put in no more, and may still come back. */
export function openBook(given: readonly GuardedSecret[], former: readonly Word[] = []): Book {
  const secrets = given.map(booked);
  return {
    secrets,
    isBoundTo: (host, port) => secrets.some((secret) => secret.isBoundTo(host, port)),
    losses: [...given.flatMap(lossesOf), ...FOREIGN],
    masks: [...given.flatMap(partsOf), ...former].flatMap(({ placeholder, value }) =>
      value === undefined ? [] : masksOf(value, placeholder),
    ),
  };
}

function lossesOf(one: GuardedSecret): Needle<Loss>[] {
  return partsOf(one).flatMap(({ placeholder, value }) => [
    ...needlesOf(placeholder, { secret: one.name, what: "placeholder" }),
    ...(value === undefined ? [] : needlesOf(value, { secret: one.name, what: "value" })),
  ]);
}

/** A key that signs has several words, none of which leaves by itself. */
export function partsOf({ placeholder, value, signer }: GuardedSecret): Word[] {
  return [{ placeholder, value }, ...(signer ? [signer.secret, signer.token] : [])];
}

interface Cell {
  readonly covers: (host: string, port: number) => boolean;
  readonly paths: readonly RegExp[] | undefined;
  readonly place: SecretBinding["place"];
}

const leadsTo = ({ covers, paths }: Cell, { host, port, path }: Destination): boolean =>
  covers(host, port) &&
  readingsOf(path).every((reading) => paths?.some((glob) => glob.test(reading)) ?? true);

function booked({ name, placeholder, value, signer, bindings }: GuardedSecret): BookedSecret {
  const cells = bindings.map(
    ({ host, ports, paths, place }): Cell => ({
      covers: (asked: string, port: number) => ports.includes(port) && hostMatches(host, asked),
      paths: paths?.flatMap(readingsOf).map(compilePath),
      place,
    }),
  );
  return {
    name,
    placeholder,
    value,
    isBoundTo: (host, port) => cells.some(({ covers }) => covers(host, port)),
    fits: (to, asked) => cells.some((cell) => leadsTo(cell, to) && isSamePlace(cell.place, asked)),
    hasBodyCell: (to) => cells.some((cell) => leadsTo(cell, to) && cell.place.in === "body"),
    ...(signer && { signer }),
    signsFor: (to, { region, service }) =>
      cells.some(
        ({ place, ...cell }) =>
          leadsTo({ ...cell, place }, to) &&
          place.in === "aws-sigv4" &&
          place.region === region &&
          place.service === service,
      ),
  };
}

/** Names of headers are one however they are written; all others mean themselves. */
function isSamePlace(own: SecretBinding["place"], asked: Place): boolean {
  if (!("name" in own) || own.in !== asked.in) return false;
  return own.in === "header" ? own.name.toLowerCase() === asked.name.toLowerCase() : own.name === asked.name;
}

function hostMatches(written: string, host: string): boolean {
  const pattern = parseHostPattern(written);
  if (!pattern) return false;
  if (pattern.depth === "exact") return pattern.host === host;
  const cut = host.indexOf(".");
  if (pattern.depth === "one") return cut > 0 && host.slice(cut + 1) === pattern.suffix;
  return host.endsWith(`.${pattern.suffix}`);
}

function needlesOf(text: string, means: Loss): Needle<Loss>[] {
  return formsOf(text).map(({ bytes }) => ({ bytes, means }));
}

/** What is coded stays as long as it was, so that what is around it can still be decoded. */
function masksOf(value: string, placeholder: string): Needle<Buffer>[] {
  return formsOf(value).map(({ kind, bytes }) => ({
    bytes,
    means:
      kind === "raw" || kind === "url"
        ? Buffer.from(placeholder)
        : Buffer.alloc(bytes.length, kind === "hex" ? "0" : "A"),
  }));
}
