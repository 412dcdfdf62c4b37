import type { AutoPause } from "./auto-pause.ts";
import type { Builds } from "./builds/build.ts";
import type { Images } from "./builds/run.ts";
import type { Tags } from "./builds/tags.ts";
import type { Signatures } from "./envd/signatures.ts";
import type { Contexts } from "./interpreter/contexts.ts";
import type { LayDown } from "./lay-down.ts";
import type { Keepers } from "./volumes/keepers.ts";

/** What the parts of this door share. */
export interface Desk {
  readonly autoPause: AutoPause;
  readonly layDown: LayDown;
  readonly signatures: Signatures;
  /** Resolves when what was signed before this gateway started is known as well. */
  readonly leftSigned: Promise<void>;
  readonly contexts: Contexts;
  readonly keepers: Keepers;
  readonly builds: Builds;
  readonly tags: Tags;
  readonly images: Images;
  /** Whether a sandbox that says nothing of its network has the internet, as E2B's have. */
  readonly internet: boolean;
  /** Below which names lead to ports inside, with this gateway's port; none where nobody listens. */
  domain(): string | undefined;
}
