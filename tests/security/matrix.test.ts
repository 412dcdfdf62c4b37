import { errorAnswerSchema } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { documentOf } from "../../apps/gateway/src/openapi/document.ts";
import { ROUTES } from "../../apps/gateway/src/rest/table.ts";
import { requires } from "../capabilities/requires.ts";
import {
  hiddenFrom,
  MAKES,
  makeNamed,
  NAMED_IN_BODIES,
  pathNamesOf,
  unknownNamings,
} from "./matrix/names.ts";
import {
  type Asked,
  type Document,
  type Named,
  type Operation,
  operationsOf,
  requestOf,
  wrongFor,
} from "./matrix/operations.ts";
import { absent, NARROW, openTenants, READING, type Tenants } from "./matrix/tenants.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const OPERATIONS = operationsOf(documentOf(ROUTES) as unknown as Document);
const GUARDED = OPERATIONS.filter(({ isPublic }) => !isPublic);
const each = (operations: readonly Operation[]) => operations.map((one) => [one.name, one] as const);
const ofJson = OPERATIONS.filter(({ body }) => body);
/** What names something that belongs to somebody. */
const OWNED = GUARDED.filter(
  (operation) => hiddenFrom(pathNamesOf(operation)).length > 0 && !MAKES.includes(operation.name),
);
/** Any key may ask for a connection, and is told of none but those it opened itself. */
const RIGHTFUL = GUARDED.filter(({ needs, path }) => needs && !path.includes("{connection}"));

/** Whatever a key may do, these are for the org's first one. */
const ROOTS_ALONE = ["GET /v1/audit/verify"];

describe("AZ-1 every route, for everybody who may not", () => {
  let tenants: Tenants;
  const sandboxes: Record<"running" | "paused" | "over", Sandbox> = {} as never;
  let owned: Named;

  beforeAll(async () => {
    tenants = await openTenants({ listen: { host: "127.0.0.1", port: 0 } });
    const create = () => tenants.owner.sandboxes.create({ ttlMs: 600_000 });
    Object.assign(sandboxes, { over: await create(), paused: await create() });
    await sandboxes.over.destroy();
    await sandboxes.paused.pause();
    const rest = [
      "process",
      "key",
      "ref",
      "webhook",
      "attachment",
      "snapshot",
      "secret",
      "approval",
      "volume",
    ];
    owned = await makeNamed(tenants, rest);
    sandboxes.running = await tenants.owner.sandboxes.get(owned.id);
  });
  afterAll(() => tenants?.close());

  async function ask(operation: Operation, asked: Asked) {
    const { path, init } = requestOf(operation, asked);
    const response = await tenants.gateway.fetch(`http://localhost${path}`, init);
    if (response.ok) {
      await response.body?.cancel();
      return { status: response.status, code: undefined, text: "" };
    }
    const text = await response.text();
    const { error } = errorAnswerSchema.parse(JSON.parse(text));
    expect(error.hint.length, "a hint").toBeGreaterThan(0);
    expect(text, "no stack").not.toMatch(/\bat (?:file:|node:|\w+ \()/);
    expect(response.status, text).toBeLessThan(500);
    expect(operation.statuses, `${operation.name} documents ${response.status} ${error.code}`).toContain(
      response.status,
    );
    return { status: response.status, code: error.code, text: text.replace(error.requestId ?? "", "") };
  }

  it("has every route of the table, and each says what it needs", () => {
    expect(OPERATIONS).toHaveLength(ROUTES.length);
    for (const operation of OPERATIONS) expect(() => requestOf(operation, { named: absent() })).not.toThrow();
    const open = OPERATIONS.filter(({ isPublic }) => isPublic).map(({ name }) => name);
    expect(open).toEqual(["GET /health", "GET /v1/openapi.json", "GET /v1/reference"]);
  });

  it.each(each(GUARDED))("%s: no key, a wrong, revoked or expired one", async (_, operation) => {
    const keys = [undefined, "", "wrong", `${tenants.ownerKey}0`, tenants.revokedKey, tenants.expiredKey];
    for (const apiKey of [...keys, "e2b_".padEnd(600, "0")]) {
      expect(await ask(operation, { named: owned, apiKey }), apiKey).toMatchObject({
        status: 401,
        code: "unauthenticated",
      });
    }
  });

  it.each(each(RIGHTFUL))("%s: a key without the right", async (_, operation) => {
    const answer = await ask(operation, { named: owned, apiKey: tenants.powerlessKey });
    expect(answer).toMatchObject({ status: 403, code: "policy_denied" });
  });

  it.each(each(RIGHTFUL))(
    "%s: a key that only reads, and one with a part of its giver's rights",
    async (_, operation) => {
      for (const [who, rights] of [
        ["readOnly", READING],
        ["attenuated", NARROW],
      ] as const) {
        const may =
          rights.some((right) => right === operation.needs) && !ROOTS_ALONE.includes(operation.name);
        const [theirs, none] = await compare(operation, tenants[`${who}Key`]);
        expect(theirs?.code === "policy_denied", `${who} ${theirs?.text}`).toBe(!may);
        // Refused or let in, it learns nothing of what is there.
        if (!may || hiddenFrom(pathNamesOf(operation)).length > 0) expect(theirs, who).toEqual(none);
      }
    },
  );

  it("knows everything that a request can name, wherever it stands", () => {
    expect(unknownNamings(GUARDED)).toEqual([]);
    const names = new Set(GUARDED.flatMap(pathNamesOf));
    expect([...names].sort()).toEqual(Object.keys(absent()).sort());
    expect(() => hiddenFrom(["nosuch"])).toThrow("add it to names.ts");
  });

  /** The answer to somebody who names the owner's, and to the same who names what never was. */
  async function compare(operation: Operation, apiKey: string, bodyOf?: (named: Named) => object) {
    const nothing: Named = { ...absent(), port: owned.port };
    const answers = [];
    for (const named of [owned, nothing]) {
      const body = bodyOf && { ...operation.body, ...bodyOf(named) };
      const { text, ...rest } = await ask(operation, { named, apiKey, ...(body && { body }) });
      const plain = Object.entries(named)
        .filter(([name]) => name !== "port" && name !== "process")
        .reduce((said, [name, id]) => said.replaceAll(id, `<${name}>`), text);
      answers.push({ ...rest, text: plain });
    }
    return answers;
  }
  const keyOf = (who: "stranger" | "sibling") => tenants[`${who}Key`];

  it.each(each(OWNED))("%s: another's is as absent", async (_, operation) => {
    for (const who of hiddenFrom(pathNamesOf(operation))) {
      const [theirs, none] = await compare(operation, keyOf(who));
      expect(theirs, who).toMatchObject({ status: 404, code: "not_found" });
      expect(theirs, who).toEqual(none);
    }
  });

  it.each(NAMED_IN_BODIES.map((one) => [`${one.operation} ${one.names}`, one] as const))(
    "%s in its body: another's is as absent",
    async (_, { operation: name, names, body }) => {
      const operation = GUARDED.find((one) => one.name === name);
      if (!operation) throw new Error(`there is no ${name}`);
      const withoutExample = { ...operation, body: {} };
      for (const who of hiddenFrom(names)) {
        const [theirs, none] = await compare(withoutExample, keyOf(who), body);
        expect(theirs, who).toMatchObject({ status: 404 });
        expect(theirs, who).toEqual(none);
      }
      const mine = { named: owned, apiKey: tenants.ownerKey, body: body(owned) };
      expect([undefined, "invalid_state", "invalid_request"], "control").toContain(
        (await ask(withoutExample, mine)).code,
      );
    },
  );

  it("exec through another's attachment: as through none", async () => {
    const operation = GUARDED.find(({ name }) => name === "POST /v1/sandboxes/{id}/exec") as Operation;
    const mine = await makeNamed(tenants, ["id"]);
    const texts = [];
    for (const { attachment } of [owned, absent()]) {
      const headers = { "sandboxer-attachment": attachment };
      const answer = await ask(operation, { named: mine, apiKey: tenants.ownerKey, headers });
      expect(answer).toMatchObject({ status: 404 });
      texts.push(answer.text.replaceAll(attachment, "<attachment>"));
    }
    expect(texts[0]).toBe(texts[1]);
  });

  it.each(each(OWNED.filter(({ path }) => !path.includes("{connection}"))))(
    "%s: control, its owner is let in",
    async (_, operation) => {
      const named = await makeNamed(tenants, pathNamesOf(operation));
      const isRoots = /\{(webhook|approval)\}/.test(operation.path);
      const apiKey = isRoots ? tenants.gateway.apiKey : tenants.ownerKey;
      const body = NAMED_IN_BODIES.find((one) => one.operation === operation.name)?.body(named);
      const { code } = await ask(operation, { named, apiKey, ...(body && { body }) });
      expect([undefined, "path_not_found", "port_closed", "invalid_state", "invalid_request"]).toContain(
        code,
      );
      if (operation.path.includes("{id}")) await (await tenants.owner.sandboxes.get(named.id)).destroy();
    },
  );

  it.each(each(ofJson))("%s: wrong types and unknown fields", async (_, operation) => {
    const asked = { named: owned, apiKey: tenants.gateway.apiKey };
    for (const [name, schema] of Object.entries(operation.bodySchema?.properties ?? {})) {
      const wrong = wrongFor(schema);
      if (wrong === undefined) continue;
      const answer = await ask(operation, { ...asked, body: { ...operation.body, [name]: wrong } });
      expect(answer, name).toMatchObject({ status: 400, code: "invalid_request" });
    }
    for (const body of [{ ...operation.body, unknownField: 1 }, [], "null", '"text"', "7"]) {
      expect(await ask(operation, { ...asked, body }), JSON.stringify(body)).toMatchObject({ status: 400 });
    }
  });

  it.each(each(ofJson))("%s: too large, too deep, twice, half", async (_, operation) => {
    const asked = { named: owned, apiKey: tenants.ownerKey };
    const large = JSON.stringify({ ...operation.body, padding: "x".repeat(4 << 20) });
    expect(await ask(operation, { ...asked, body: large })).toMatchObject({ status: 413 });
    for (const body of [
      `{"deep":${"[".repeat(70)}${"]".repeat(70)}}`,
      "[".repeat(200_000),
      '{"__proto__":{"admin":true}}',
      '{"half":"\\ud800"}',
      "{",
      "",
    ]) {
      expect(await ask(operation, { ...asked, body }), body.slice(0, 40)).toMatchObject({ status: 400 });
    }
    // Right but for one member that is there again, as it was and spelled otherwise.
    for (const [name, value] of Object.entries(operation.body ?? {}).slice(0, 1)) {
      const spelled = `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`;
      for (const again of [name, spelled]) {
        const body = `{"${again}":${JSON.stringify(value)},${JSON.stringify(operation.body).slice(1)}`;
        const { status, text } = await ask(operation, { ...asked, body });
        expect([status, text], body).toEqual([400, expect.stringContaining("is said twice")]);
      }
    }
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect(await ask(operation, { ...asked, headers: form })).toMatchObject({ status: 400 });
  });

  it.each(each(GUARDED))("%s: a query nobody knows, or of a wrong form", async (_, operation) => {
    const asked = { named: owned, apiKey: tenants.ownerKey };
    expect(await ask(operation, { ...asked, query: { unknown: "1" } })).toMatchObject({ status: 400 });
    for (const { name, in: place, schema } of operation.parameters) {
      const isText = schema.type === "string" && !schema.pattern && !schema.enum;
      if (place !== "query" || (isText && name !== "state")) continue;
      const answer = await ask(operation, { ...asked, query: { [name]: "\0wrong" } });
      expect(answer, name).toMatchObject({ status: 400, code: "invalid_request" });
    }
  });

  it.each(each(GUARDED.filter(({ path }) => path.includes("{id}"))))(
    "%s: in a wrong state",
    async (_, operation) => {
      // What only reads or ends is right in every state.
      const settled = ["sandbox.read", "sandbox.destroy"].includes(operation.needs ?? "");
      for (const state of ["over", "paused"] as const) {
        if (state === "paused" && (settled || /\/(resume|start|stop)$/.test(operation.path))) continue;
        const named = { ...owned, id: sandboxes[state].id };
        const { status, code } = await ask(operation, { named, apiKey: tenants.ownerKey });
        if (status < 300)
          expect(settled || /pause|extend|recreate|elevations/.test(operation.path), state).toBe(true);
        else expect(["sandbox_gone", "invalid_state", "not_found"], state).toContain(code);
      }
    },
  );
});
