/**
 * Node opens V8's inspector on SIGUSR1, which every process of this user may send, and who connects reads the tokens
 * and runs code as the gate. With a listener it does not. An entry imports this module before all others.
 */
process.on("SIGUSR1", () => {});
