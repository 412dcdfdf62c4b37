/** What to do when an answer is out, or its reader gone: its last byte comes long after `fetch` resolves. */
const endings = new WeakMap<Response, () => void>();

export function whenOver(response: Response, end: () => void): Response {
  endings.set(response, end);
  return response;
}

export function isOver(response: Response): void {
  endings.get(response)?.();
}
