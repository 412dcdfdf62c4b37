import {
  type Budget,
  budgetSchema,
  type CreateBody,
  doctorSchema,
  healthSchema,
  listAnswerSchema,
  type Probe,
  type RoutePlan,
  routePlanSchema,
  type SandboxState,
  sandboxSchema,
  type Whoami,
  whoamiSchema,
} from "@sandboxer/contract";
import { type Approvals, openApprovals } from "./approvals.ts";
import { type Attachments, openAttachments } from "./attachments.ts";
import { type ImageShelf, openImageShelf } from "./images.ts";
import { type Keys, openKeys } from "./keys.ts";
import { type Log, openLog, openWebhooks, type Webhooks } from "./log.ts";
import { type Orgs, openOrgs } from "./orgs.ts";
import { openProfiles, type Profiles } from "./profiles.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { openSecrets, type Secrets } from "./secrets.ts";
import { openSnapshotShelf, type SnapshotShelf } from "./snapshots.ts";
import type { SocketMaker } from "./sockets.ts";
import { openStoreView, type StoreView } from "./store.ts";
import { createTransport, type Fetch, type Once } from "./transport.ts";
import { openVolumes, type Volumes } from "./volumes.ts";

export interface ClientOptions {
  /** Where the gateway is, as in `http://127.0.0.1:7070`. */
  readonly url: string;
  readonly apiKey: string;
  /** Left out, the platform's own. */
  readonly fetch?: Fetch;
  /** Left out, the platform's own, unless `fetch` is given. */
  readonly WebSocket?: SocketMaker;
}

export interface ListOptions {
  readonly states?: readonly SandboxState[];
  /** Those that are over keep theirs. */
  readonly name?: string;
  readonly limit?: number;
}

export interface Page {
  readonly sandboxes: readonly Sandbox[];
  /** Pass as `after` for the next page; absent on the last. */
  readonly next?: string | undefined;
}

export interface Client {
  readonly sandboxes: {
    create(body?: CreateBody, once?: Once): Promise<Sandbox>;
    /** By id or by name. */
    get(idOrName: string): Promise<Sandbox>;
    list(options?: ListOptions & { readonly after?: string | undefined }): Promise<Page>;
    /** Every page, one sandbox after the other. */
    all(options?: ListOptions): AsyncIterable<Sandbox>;
  };
  readonly attachments: Attachments;
  readonly orgs: Orgs;
  readonly keys: Keys;
  readonly profiles: Profiles;
  readonly secrets: Secrets;
  readonly approvals: Approvals;
  readonly snapshots: SnapshotShelf;
  readonly volumes: Volumes;
  readonly store: StoreView;
  readonly images: ImageShelf;
  readonly events: Log;
  readonly webhooks: Webhooks;
  readonly budget: {
    /** The account that the key's sandboxes draw on. */
    get(): Promise<Budget>;
    /**
     * What the whole org may spend, `null` for no limit: of a tenant by name, for the installation's
     * root key; of one's own org otherwise.
     */
    set(limitMicroUsd: number | null, org?: string): Promise<Budget>;
  };
  /** Who the client's key belongs to, and what it may do. */
  whoami(): Promise<Whoami>;
  /** The route a create would take, with every rejected extension and its reason. Starts nothing. */
  explain(body?: CreateBody): Promise<RoutePlan>;
  /** What every extension says of the gateway's machine. */
  doctor(): Promise<Readonly<Record<string, Probe>>>;
  health(): Promise<{ status: "ok"; version: string }>;
}

export function createClient(options: ClientOptions): Client {
  const { url, apiKey, fetch = globalThis.fetch } = options;
  // Who brings a `fetch` of their own does not want the platform's way to the network.
  const WebSocket = options.WebSocket ?? (options.fetch ? undefined : globalThis.WebSocket);
  // Called through an arrow: browsers refuse a `fetch` whose `this` is not the window.
  const transport = createTransport({ url, apiKey, WebSocket, fetch: (input, init) => fetch(input, init) });

  async function list({ states, ...rest }: ListOptions & { after?: string | undefined } = {}): Promise<Page> {
    const query = { ...rest, state: states?.join(",") };
    const page = await transport.ask(listAnswerSchema, "GET", "/v1/sandboxes", { query });
    return { ...page, sandboxes: page.sandboxes.map((info) => openSandbox(transport, info)) };
  }

  async function* all(options: ListOptions = {}): AsyncGenerator<Sandbox> {
    let after: string | undefined;
    do {
      const page: Page = await list({ ...options, after });
      yield* page.sandboxes;
      after = page.next;
    } while (after !== undefined);
  }

  return {
    sandboxes: {
      async create(body = {}, once) {
        return openSandbox(
          transport,
          await transport.ask(sandboxSchema, "POST", "/v1/sandboxes", { json: body, once }),
        );
      },
      async get(idOrName) {
        const path = `/v1/sandboxes/${encodeURIComponent(idOrName)}`;
        return openSandbox(transport, await transport.ask(sandboxSchema, "GET", path));
      },
      list,
      all,
    },
    attachments: openAttachments(transport),
    orgs: openOrgs(transport),
    keys: openKeys(transport),
    profiles: openProfiles(transport),
    secrets: openSecrets(transport),
    approvals: openApprovals(transport),
    snapshots: openSnapshotShelf(transport),
    volumes: openVolumes(transport),
    store: openStoreView(transport),
    images: openImageShelf(transport),
    events: openLog(transport),
    webhooks: openWebhooks(transport),
    budget: {
      get: () => transport.ask(budgetSchema, "GET", "/v1/budget"),
      set: (limitMicroUsd, org) =>
        transport.ask(budgetSchema, "PUT", "/v1/budget", { json: { limitMicroUsd, org } }),
    },
    whoami: () => transport.ask(whoamiSchema, "GET", "/v1/whoami"),
    explain: (body = {}) => transport.ask(routePlanSchema, "POST", "/v1/route/explain", { json: body }),
    async doctor() {
      return (await transport.ask(doctorSchema, "GET", "/v1/doctor")).extensions;
    },
    health: () => transport.ask(healthSchema, "GET", "/health"),
  };
}
