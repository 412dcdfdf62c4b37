/** Whose eyes. Left out of a query, those of the house itself, which see everything. */
export interface Viewer {
  readonly principalId: string;
  readonly team?: string | undefined;
}
