import { join } from "node:path";
import type { KeptImage } from "@sandboxer/contract";
import type { PassLocalFailPoint } from "../failpoint.ts";
import type { Aside } from "./aside.ts";
import { createFlights, type Flights } from "./flights.ts";
import { type Layers, openLayers } from "./layers.ts";
import type { RegistryOptions } from "./registry.ts";
import { openSetups, type Setups } from "./setups.ts";
import { type ImageRecord, type ImageShelf, openShelf } from "./shelf.ts";

export interface ImageOptions extends RegistryOptions {
  /** The most that one layer unpacks to. */
  readonly maximumLayerMiB?: number | undefined;
}

export interface StoreOptions {
  readonly dir: string;
  readonly boxdPath: string;
  readonly aside: Aside;
  readonly images: ImageOptions;
  readonly pass: PassLocalFailPoint;
  /** The folders that sandboxes lie on now, of each. */
  lowersInUse(): Promise<readonly (readonly string[])[]>;
  /** Those of one of them. */
  lowersOf(ref: string): Promise<readonly string[]>;
}

/** What everything that is done with images stands on. */
export interface Ground extends StoreOptions {
  readonly mostBytes: number;
  readonly layers: Layers;
  readonly shelf: ImageShelf;
  readonly flights: Flights<ImageRecord>;
  readonly setups: Setups;
  /** The folders of an image, from the top down. */
  treesOf(record: ImageRecord): string[];
  /** How many sandboxes are made of it. */
  countUsers(record: ImageRecord): Promise<number>;
  describe(record: ImageRecord): Promise<Omit<KeptImage, "extensionId">>;
  /** The record first, then the names that lead to it: never one that leads nowhere. */
  put(record: ImageRecord, names: readonly string[]): Promise<ImageRecord>;
}

const ENOUGH_MIB = 32 * 1024;

export function openGround(options: StoreOptions): Ground {
  const { dir, boxdPath, aside, images, pass, lowersInUse } = options;
  const mostBytes = (images.maximumLayerMiB ?? ENOUGH_MIB) * 2 ** 20;
  const layers = openLayers({ dir: join(dir, "layers"), boxdPath, aside, mostBytes, pass });
  const shelf = openShelf(dir, aside);
  const treesOf = (record: ImageRecord) => record.layers.map(layers.treeOf).reverse();

  const countUsers = async (record: ImageRecord): Promise<number> => {
    const [top = ""] = treesOf(record);
    return (await lowersInUse()).filter((lowers) => lowers.includes(top)).length;
  };

  const describe: Ground["describe"] = async (record) => {
    const { schema: _, layers: diffIds, ...said } = record;
    const facts = await Promise.all(diffIds.map(layers.facts));
    const sum = (of: "bytes" | "skipped" | "stripped") =>
      facts.reduce((all, one) => all + (one?.[of] ?? 0), 0);
    const known = [...(await shelf.names())];
    return {
      ...said,
      names: known.flatMap(([name, digest]) => (digest === record.digest ? name : [])).sort(),
      layers: diffIds.length,
      bytes: sum("bytes"),
      skipped: sum("skipped"),
      stripped: sum("stripped"),
      owners: facts.some((one) => one?.owners === "collapsed") ? "collapsed" : "kept",
      users: await countUsers(record),
    };
  };

  const put: Ground["put"] = async (record, names) => {
    await shelf.put(record);
    pass("image.recorded");
    for (const name of names) await shelf.name(name, record.digest);
    pass("image.named");
    return record;
  };

  const flights = createFlights<ImageRecord>();
  const setups = openSetups(join(dir, "setups"), layers, aside);
  return { ...options, mostBytes, layers, shelf, flights, setups, treesOf, countUsers, describe, put };
}
