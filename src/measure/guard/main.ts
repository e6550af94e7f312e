import { Socket } from "node:net";
import { Guard } from "./guard.ts";

/** `guard <controlFd> <statusFd> -- argv…`, the launcher's command line. */
const [controlFd, statusFd, dashes, ...argv] = process.argv.slice(2);
if (controlFd === undefined || statusFd === undefined || dashes !== "--" || argv.length === 0) {
  process.stderr.write("usage: guard <control fd> <status fd> -- command [argument…]\n");
  process.exit(2);
}
// It must outlive signals that are meant for the command's group. Without a listener, SIGUSR1 opens Node's inspector.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const) process.on(signal, () => {});
const control = new Socket({ fd: Number(controlFd), readable: true, writable: false });
const status = new Socket({ fd: Number(statusFd), readable: false, writable: true });
status.on("error", () => {});
new Guard(argv, status).serve(control).then(() => {
  status.end(() => process.exit(0));
});
