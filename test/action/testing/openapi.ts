import { readFileSync } from "node:fs";
import { schemaValidator } from "./tools.ts";

interface Operation {
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const FILE = new URL("../fixtures/github-openapi.json", import.meta.url);

type Json = Readonly<Record<string, unknown>>;

/** OpenAPI 3.0 has `nullable`, JSON Schema has null; the other keywords in use are the same. */
function toJsonSchema(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toJsonSchema);
  if (typeof node !== "object" || node === null) return node;
  const { nullable, ...rest } = node as Json & { nullable?: boolean };
  const schema: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(rest)) {
    schema[key] = key === "$ref" && typeof value === "string" ? `github${value}` : toJsonSchema(value);
  }
  if (nullable !== true) return schema;
  if (typeof schema.type === "string" && schema.enum === undefined) return { ...schema, type: [schema.type, "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

let shared: GitHubContract | undefined;

/** GitHub's own description of the operations the Action uses, as a contract between client and double. */
export class GitHubContract {
  readonly #document: Document = JSON.parse(readFileSync(FILE, "utf8"));
  readonly #validator = schemaValidator();
  /** The validator compiles a schema once per object, which for some takes half a second. */
  readonly #converted = new WeakMap<object, object>();

  /** The contract of all doubles of a test file, whose schemas are compiled once. */
  static shared(): GitHubContract {
    shared ??= new GitHubContract();
    return shared;
  }

  private constructor() {
    for (const format of ["uri", "date-time", "repo.nwo", "timezone", "ssh-key", "email", "int64"]) {
      this.#validator.addFormat(format, true);
    }
    this.#validator.addSchema(toJsonSchema({ components: this.#document.components }) as object, "github");
  }

  /** An official example response. */
  example(name: string): Json {
    const found = this.#document.components.examples?.[name] as { value: Json } | undefined;
    if (found === undefined) throw new Error(`GitHub's description has no example ${name}`);
    return structuredClone(found.value);
  }

  /** Why a request does not fit, or null. */
  requestProblem(method: string, route: string, body: unknown): string | null {
    const operation = this.#operation(method, route);
    const content = this.#resolve(operation.requestBody) as { content?: Json; required?: boolean } | undefined;
    if (body === undefined && content?.required !== true) return null;
    return this.#check(content?.content, body, "request");
  }

  /** Why a response does not fit, or null. An undescribed status is a problem too. */
  responseProblem(method: string, route: string, status: number, body: unknown): string | null {
    const response = this.#operation(method, route).responses[String(status)];
    if (response === undefined) return `status ${status} is not described`;
    const { content } = this.#resolve(response) as { content?: Json };
    return this.#check(content, body, "response");
  }

  #operation(method: string, route: string): Operation {
    const operation = this.#document.paths[route]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${method} ${route} is not in the committed subset`);
    return operation;
  }

  #resolve(node: unknown): unknown {
    if (typeof node !== "object" || node === null || !("$ref" in node)) return node;
    const [, , group = "", name = ""] = String(node.$ref).split("/");
    return this.#document.components[group]?.[name];
  }

  #check(content: Json | undefined, body: unknown, what: string): string | null {
    const media = content?.["application/json"] as { schema?: unknown } | undefined;
    if (media?.schema === undefined) return null;
    const given = media.schema as object;
    const schema = this.#converted.get(given) ?? (toJsonSchema(given) as object);
    this.#converted.set(given, schema);
    const fits = this.#validator.validate(schema, body);
    return fits ? null : `${what}: ${this.#validator.errorsText()}`;
  }
}
