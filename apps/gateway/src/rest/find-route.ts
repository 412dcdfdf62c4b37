import { SandboxerError } from "@sandboxer/contract";
import type { Route } from "./route.ts";

interface Found {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

interface Branch {
  readonly named: Map<string, Branch>;
  any?: Branch;
  readonly routes: Map<string, Route>;
}

type FindRoute = (method: string, pathname: string) => Found | undefined;

/** Which of the routes a path means. A word of its own goes before a parameter in the same place. */
export function createFindRoute(routes: readonly Route[]): FindRoute {
  const root = newBranch();
  for (const route of routes) branchOf(root, segmentsOf(route.path)).routes.set(route.method, route);
  return (method, pathname) => {
    const values: string[] = [];
    const route = walk(root, segmentsOf(pathname), 0, method, values);
    return route && { route, params: paramsOf(route, values) };
  };
}

/** The address is wrong, or its method: there is no id to look at. */
export function noSuchRoute(): SandboxerError {
  return new SandboxerError("not_found", "there is no such route", {
    hint: "Check the path and the method: `GET /v1/reference` shows every route.",
  });
}

function newBranch(): Branch {
  return { named: new Map(), routes: new Map() };
}

function segmentsOf(path: string): string[] {
  return path.split("/").slice(1);
}

function branchOf(root: Branch, segments: readonly string[]): Branch {
  let branch = root;
  for (const segment of segments) {
    if (segment.startsWith("{")) {
      branch.any ??= newBranch();
      branch = branch.any;
    } else {
      const next = branch.named.get(segment) ?? newBranch();
      branch.named.set(segment, next);
      branch = next;
    }
  }
  return branch;
}

function walk(
  branch: Branch,
  segments: readonly string[],
  at: number,
  method: string,
  values: string[],
): Route | undefined {
  const segment = segments[at];
  if (segment === undefined) return branch.routes.get(method);
  const named = branch.named.get(segment);
  const found = named && walk(named, segments, at + 1, method, values);
  if (found || !branch.any || segment === "") return found;
  values.push(decoded(segment));
  const other = walk(branch.any, segments, at + 1, method, values);
  if (!other) values.pop();
  return other;
}

function paramsOf({ path }: Route, values: readonly string[]): Record<string, string> {
  const names = path.match(/(?<=\{)\w+(?=\})/g) ?? [];
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));
}

/** What is not well-formed stays as it is, for the route's own schema to refuse. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
