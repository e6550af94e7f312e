/** A command to start: an argument vector without a shell, or one string for `sh -c`. */
export type Command =
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  | { readonly kind: "shell"; readonly script: string };

const NODE = /(?:^|[\s/])(?:node|nodejs|npm|npx|pnpm|yarn|tsx)(?=\s|$)/;

/** The words of a command as one line. */
export const commandLine = (command: Command): string =>
  command.kind === "shell" ? command.script : command.argv.join(" ");

/** Whether a command starts Node, by its own words. */
export const namesNode = (command: Command): boolean => NODE.test(commandLine(command));
