import { Comments, type DoubleComment } from "./double/comments.ts";
import { Pulls } from "./double/pulls.ts";
import { repositoryRoutes } from "./double/repository.ts";
import { type Call, type Handler, NOT_FOUND, type Routes, type TokenRights } from "./double/route.ts";
import { type Answer, HttpDouble, type Request } from "./http.ts";
import { GitHubContract } from "./openapi.ts";

export { COMMENT, COMMENTS } from "./double/comments.ts";

/** Answers a GraphQL query; GitHub's OpenAPI description does not include the schema of GraphQL. */
export type GraphQl = (query: string, variables: Readonly<Record<string, unknown>>, token: TokenRights) => unknown;

interface Entry {
  readonly route: string;
  readonly pattern: RegExp;
  readonly methods: Routes[string];
}

/**
 * GitHub's API for one repository, put together from parts (`double/`), every request and response checked on both
 * sides against GitHub's own description. Comments and pull requests are always there; `use` adds more.
 */
export class GitHubDouble extends HttpDouble {
  readonly contract = GitHubContract.shared();
  readonly #comments = new Comments();
  readonly pulls = new Pulls();
  readonly tokens = new Map<string, TokenRights>();
  readonly #entries: Entry[] = [];
  /** Answers further GraphQL queries; null = not answered here. */
  graphQl: GraphQl = () => null;

  constructor() {
    super((request) => this.#route(request));
    this.use(this.#comments.routes).use(this.pulls.routes);
  }

  use(routes: Routes): this {
    for (const [route, methods] of Object.entries(routes)) {
      // Refs and paths contain slashes.
      const source = route.replace(/\{(\w+)\}/g, (_all, name) =>
        ["ref", "path", "basehead"].includes(name) ? `(?<${name}>.+)` : `(?<${name}>[^/]+)`,
      );
      this.#entries.push({ route, pattern: new RegExp(`^${source}$`), methods });
    }
    return this;
  }

  get comments(): DoubleComment[] {
    return this.#comments.all;
  }

  /** Add a comment of any user. */
  addComment(issue: number, author: string, body: string, createdIso?: string): DoubleComment {
    return this.#comments.add(issue, author, body, createdIso);
  }

  /** Head commit of each pull request. */
  readonly heads = {
    set: (number: number, headSha: string): void => {
      const known = this.pulls.all.get(number);
      if (known === undefined) this.pulls.all.set(number, { headSha });
      else known.headSha = headSha;
    },
  };

  /** Answers that every step needs: no refs with baselines, and a token that may not store pictures. */
  readonly #fallback: readonly Entry[] = [
    {
      route: "/repos/{owner}/{repo}/git/ref/{ref}",
      pattern: /^\/repos\/[^/]+\/[^/]+\/git\/ref\/(?<ref>.+)$/,
      methods: { GET: () => NOT_FOUND },
    },
    {
      route: "/repos/{owner}/{repo}/git/blobs",
      pattern: /^\/repos\/[^/]+\/[^/]+\/git\/blobs$/,
      methods: { POST: () => ({ status: 403, body: { message: "Resource not accessible by integration" } }) },
    },
    {
      route: "/repos/{owner}/{repo}",
      pattern: /^\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)$/,
      methods: repositoryRoutes(true)["/repos/{owner}/{repo}"] ?? {},
    },
  ];

  async #route(request: Request): Promise<Answer> {
    const token = this.tokens.get(request.authorization.replace(/^(token|bearer) /i, ""));
    if (token === undefined) return { status: 401, body: { message: "Bad credentials" } };
    if (request.path === "/graphql") return this.#graphQl(request, token);
    let known = false;
    for (const { route, pattern, methods } of [...this.#entries, ...this.#fallback]) {
      const found = pattern.exec(request.path);
      if (found === null) continue;
      const parameters = found.groups ?? {};
      known = true;
      const handler = methods[request.method as keyof typeof methods];
      if (handler === undefined) continue;
      return this.#checked(request, route, handler, { ...parameters }, token);
    }
    if (!known) this.faults.push(`${request.method} ${request.path} is not a route of the double`);
    return NOT_FOUND;
  }

  async #checked(
    request: Request,
    route: string,
    handler: Handler,
    parameters: Record<string, string>,
    token: TokenRights,
  ): Promise<Answer> {
    const wrong = this.contract.requestProblem(request.method, route, request.body);
    if (wrong !== null) this.faults.push(`${request.method} ${request.path} ${wrong}`);
    const call: Call = { request, parameters, token, contract: this.contract, url: this.url };
    // `POST /markdown` only renders.
    const refused = request.method !== "GET" && route !== "/markdown" && !token.write;
    const answer = refused
      ? { status: 403, body: { message: "Resource not accessible by integration" } }
      : await handler(call);
    // 403 is what GitHub answers to missing rights everywhere, and 404 to what was deleted; its description lists them
    // only for some operations.
    const undescribed = answer.status === 403 || (answer.status === 404 && request.method !== "GET");
    const problem = undescribed
      ? null
      : this.contract.responseProblem(request.method, route, answer.status, answer.body);
    if (problem !== null) this.faults.push(`${request.method} ${request.path} ${problem}`);
    return answer;
  }

  #graphQl(request: Request, token: TokenRights): Answer {
    const { query, variables } = request.body as { query: string; variables?: Record<string, unknown> };
    const answer = this.graphQl(query, variables ?? {}, token);
    if (answer !== null) return { status: 200, body: answer };
    return { status: 200, body: { data: { viewer: { login: token.login } } } };
  }
}
