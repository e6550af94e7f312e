/** Writes the tables of the evidence page again from the documents of the benches. Usage: npm run bench:tables. */
import { writeTables } from "./publish.ts";

writeTables();
