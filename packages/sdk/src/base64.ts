/** The quickest decoder there is here: the engine's own, Node's, or the one every browser has. */
type Decode = (text: string) => Uint8Array;

interface MaybeNative {
  fromBase64?: Decode;
}
interface MaybeBuffer {
  Buffer?: { from(text: string, encoding: "base64"): Uint8Array };
}

const native = (Uint8Array as MaybeNative).fromBase64?.bind(Uint8Array);
const { Buffer: NodeBuffer } = globalThis as MaybeBuffer;

export const decodeBase64: Decode =
  native ??
  (NodeBuffer
    ? (text) => {
        const { buffer, byteOffset, byteLength } = NodeBuffer.from(text, "base64");
        return new Uint8Array(buffer, byteOffset, byteLength);
      }
    : (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
