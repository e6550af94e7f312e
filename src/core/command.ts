/** A command to start: an argument vector without a shell, or one string for `sh -c`. */
export type Command =
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  | { readonly kind: "shell"; readonly script: string };
