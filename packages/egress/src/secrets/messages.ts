import { sift } from "../dlp/sift.ts";
import { type DlpParts, onMatchIn } from "../dlp/watch.ts";
import type { Messages } from "../websocket/join.ts";
import type { Book } from "./book.ts";
import { replaceIn } from "./scan.ts";
import { Stopped } from "./stopped.ts";

/** What is known of a sandbox's secrets right now: a WebSocket outlives many a change. */
export type Known = () => { readonly book: Book; readonly dlp?: DlpParts | undefined };

/** Nothing is put into a message: what stands for a secret is stopped there, and a secret that comes is masked. */
export function messagesBy(known: Known): Messages {
  return {
    out(message) {
      const { book, dlp } = known();
      const guarded = replaceIn(message, book.losses, ({ means }) => {
        throw new Stopped(means, "message");
      });
      return dlp ? sift(guarded, onMatchIn(dlp, "message", true)) : guarded;
    },
    in: (message) => replaceIn(message, known().book.masks, ({ means }) => means),
  };
}
