/** What the client gives to a fetch, as much of it as is looked at here. */
export interface FetchOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fetch<Options extends FetchOptions = FetchOptions> = (url: string, options?: Options) => Promise<Response>;

/** GitHub, or a proxy between it and the runner, gave an answer that cannot be used. */
export class BadAnswerError extends Error {
  override readonly name = "BadAnswerError";
}

/** A body that may be longer than announced. @param tooLarge what is thrown for one above the limit */
export async function bodyOf(response: Response, maxBytes: number, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early also ends the transfer.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function checkJson(body: Buffer, type: string): void {
  if (!/\bjson\b/i.test(type)) {
    throw new BadAnswerError(
      `the answer is not JSON but ${type.slice(0, 40) || "untyped"}. Is there a proxy or a login page in between?`,
    );
  }
  try {
    JSON.parse(body.toString("utf8"));
  } catch {
    throw new BadAnswerError("the answer is not valid JSON");
  }
}

/**
 * A fetch whose answers are whole when they come: bounded in size, and JSON where JSON was asked for. The client alone
 * reads without a limit, takes a body that was cut for an empty one, and hands on what it cannot parse as a text.
 * @returns a fetch that throws BadAnswerError besides what the given one throws
 */
export function boundedFetch<Options extends FetchOptions>(
  inner: Fetch<Options>,
  // Maximum size of an answer, bytes: far above anything that the gate asks for.
  maxBytes = 64 * 1024 * 1024,
): Fetch<Options> {
  return async (url, options) => {
    const response = await inner(url, options);
    const { status, statusText, headers } = response;
    const tooLarge = () => new BadAnswerError(`GitHub's answer is larger than ${maxBytes / 1024 ** 2} MiB`);
    const body = await bodyOf(response, maxBytes, tooLarge);
    const wantsJson = /\bjson\b/i.test(options?.headers?.accept ?? "");
    if (response.ok && body.byteLength > 0 && wantsJson) checkJson(body, headers.get("content-type") ?? "");
    const whole = new Response(body.byteLength === 0 ? null : new Uint8Array(body), { status, statusText, headers });
    // A response that was made has no address; pages follow each other by it.
    return Object.defineProperty(whole, "url", { value: response.url });
  };
}
