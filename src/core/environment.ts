/** Environment variables as a value that is passed on; only entry points read `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;
