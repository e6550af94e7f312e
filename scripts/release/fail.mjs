// One way to end: a readable line, exit status 1, no stack.

export class ReleaseError extends Error {}

/**
 * Run a script's work, asynchronous or not; a ReleaseError prints one line, anything else is a bug.
 */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    console.error(`release: ${error.message}`);
    process.exitCode = 1;
  }
}
