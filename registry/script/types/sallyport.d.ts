// Types of the library of scripts. The host offers the module "sallyport" to every script; nothing has to be installed.

declare module "sallyport" {
  type Words<S extends string> = S extends `${infer Head} ${string}` ? Head : S extends `${infer Head}\n${string}` ? Head : S;
  type Plain<T extends string> = T extends `${infer Item}[]` ? Plain<Item>[]
    : T extends "string" ? string
    : T extends "number" | "integer" ? number
    : T extends "boolean" ? boolean
    : T extends "object" ? Record<string, unknown>
    : unknown;
  type Optional<S> = S extends string ? (Words<S> extends `${string}?` ? true : false) : false;
  type ValueOf<S> = S extends string ? (Words<S> extends `${infer T}?` ? Plain<T> : Plain<Words<S>>)
    : S extends StandardSchema<infer Out> ? Out
    : S extends readonly [infer Item extends object] ? ValueOf<Item>[]
    : S extends readonly (infer Item)[] ? Item
    : S extends { type: "object"; properties: object } | { $schema: string } ? Record<string, any>
    : S extends object ? ArgumentsOf<S>
    : unknown;
  type Simple<T> = { [K in keyof T]: T[K] };

  /** The arguments that a short form describes. */
  export type ArgumentsOf<S> = S extends StandardSchema<infer Out> ? Out
    : S extends { type: "object" } | { $schema: string } ? Record<string, any>
    : Simple<
        { -readonly [K in keyof S as Optional<S[K]> extends true ? never : K]: ValueOf<S[K]> } &
        { -readonly [K in keyof S as Optional<S[K]> extends true ? K : never]?: ValueOf<S[K]> }
      >;

  /** A schema of zod, valibot or another library of the Standard Schema. */
  export interface StandardSchema<Out = unknown> {
    readonly "~standard": { readonly vendor: string; readonly types?: { readonly output: Out } | undefined };
  }

  /**
   * The input of a tool: `{ name: "string", times: "integer? how often" }`, a JSON Schema of type object, or a Standard
   * Schema. A type is string, number, integer, boolean, object or any, with [] for a list and ? if the value may be absent;
   * a description follows after a blank. A list of values allows those; an object in it is the type of a list's items.
   */
  export type Input = object;

  export type Content =
    | { type: "text"; text: string; [key: string]: unknown }
    | { type: "image" | "audio"; data: string; mimeType: string; [key: string]: unknown }
    | { type: "resource_link"; uri: string; name: string; [key: string]: unknown }
    | { type: "resource"; resource: Contents; [key: string]: unknown };
  export interface Contents { uri: string; mimeType?: string; text?: string; blob?: string; [key: string]: unknown }
  export interface Result { content: Content[]; structuredContent?: object; isError?: boolean; _meta?: object }
  /** The request. In a completion, `argument` is what is completed, and name or uri that of its prompt or template. */
  export interface Call { name: string; uri: string; argument?: string; meta: Record<string, unknown> }
  export type Bytes = ArrayBuffer | ArrayBufferView;

  type Handler<A> = (args: A, call: Call) => unknown;

  export interface ToolOptions<I> {
    name: string;
    description?: string;
    title?: string;
    input?: I;
    /** The JSON Schema to publish, if the library of `input` offers none. */
    inputSchema?: object;
    output?: Input;
    outputSchema?: object;
    readOnly?: boolean;
    destructive?: boolean;
    idempotent?: boolean;
    openWorld?: boolean;
    /** true: the call may go on as a task; "only": it always does. */
    task?: boolean | "only";
    asksFirst?: boolean;
    hidden?: boolean;
    icons?: object[];
    _meta?: object;
    handler: Handler<ArgumentsOf<I>>;
  }

  /** Registers a tool. A text, content blocks or a value is its result; an error that it throws is shown to the model. */
  export function tool<const I extends Input>(name: string, description: string, input: I, handler: Handler<ArgumentsOf<I>>): void;
  export function tool(name: string, description: string, handler: Handler<Record<string, never>>): void;
  export function tool<const I extends Input>(options: ToolOptions<I>): void;

  /** Registers a resource; with `{name}` in its address a template, whose values the handler gets. */
  export function resource(uri: string, name: string, description: string, handler: Handler<Record<string, string>>): void;
  export function resource(options: {
    uri: string; name: string; description?: string; title?: string; mimeType?: string; size?: number; annotations?: object; icons?: object[]; _meta?: object;
    complete?: Completions; handler: Handler<Record<string, string>>;
  }): void;

  /** Registers a prompt. Its arguments are descriptions; one that begins with ? is optional. */
  export function prompt(name: string, description: string, args: Record<string, string>, handler: Handler<Record<string, string>>): void;
  export function prompt(name: string, description: string, handler: Handler<Record<string, never>>): void;
  export function prompt(options: {
    name: string; description?: string; title?: string; icons?: object[]; _meta?: object;
    arguments?: Record<string, string | { description?: string; optional?: boolean }>; complete?: Completions; handler: Handler<Record<string, string>>;
  }): void;
  export type Completions = Record<string, string[] | ((typed: string, others: Record<string, string>, call: Call) => string[] | Promise<string[]>)>;

  /** Describes the plugin itself. */
  export function plugin(about: { name?: string; version?: string; description?: string; state?: "call" | "session" | "plugin" | "fresh" }): void;
  /** Asks the operator for a grant, such as want("net", "GET https://api.example.com/**", "looks words up"). */
  export function want(family: string, grant: unknown, why: string): void;

  export function text(value: unknown): Content;
  export function image(data: Bytes | string, mimeType?: string): Content;
  export function audio(data: Bytes | string, mimeType?: string): Content;
  export function link(uri: string, name?: string, rest?: object): Content;
  export function embed(contents: { uri: string; mimeType?: string; text?: string; blob?: Bytes | string }): Content;

  /** Keys of the plugin; they need a kv grant. */
  export const kv: {
    get(key: string): Promise<any>;
    entry(key: string): Promise<{ value: any; version: number }>;
    set(key: string, value: unknown, options?: { ifVersion?: number; ttlMs?: number }): Promise<{ version: number }>;
    delete(key: string, options?: { ifVersion?: number }): Promise<unknown>;
    list(options?: string | { prefix?: string; after?: string; limit?: number }): Promise<{ keys: { key: string; version: number }[]; more?: boolean }>;
  };
  export const secrets: { list(): Promise<{ name: string; to?: string; config?: string }[]>; get(name: string): Promise<string> };

  /** Asks the person; null if the person declined the form, undefined if the person dismissed it. */
  export function elicit<const I extends Input>(message: string, form: I, options?: { key?: string }): Promise<ArgumentsOf<I> | null | undefined>;
  /** Asks the client's model. */
  export function sample(prompt: string | { role: string; content: Content }[], options?: { maxTokens?: number; systemPrompt?: string; temperature?: number; key?: string; [key: string]: unknown }): Promise<{ text: string; content: Content | Content[]; model: string; stopReason?: string }>;
  export function roots(): Promise<{ uri: string; name?: string }[]>;
  /** Calls a tool of any plugin by its public name. A tool that failed is a ToolError with its `result`. */
  export function callTool(name: string, args?: object): Promise<Result>;
  /** A value of the operator's config grants. */
  export function config(key: string): string | undefined;
  export function config(key: string, fallback: string): string;
  export function log(level: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency", data: unknown, logger?: string): void;
  export function progress(done: number, total?: number, message?: string): void;
  export interface ListChange { show?: string[]; hide?: string[]; visible?: string[] }
  export function toolsChanged(change?: ListChange | string[]): void;
  export function resourcesChanged(change?: ListChange | string[]): void;
  export function promptsChanged(change?: ListChange | string[]): void;
  export function resourceUpdated(uri: string): void;
  export function release(): void;
  /** Makes any request of the host, such as ask("http/fetch", { method: "GET", url }), and returns its result. */
  export function ask(method: string, params?: object, key?: string): Promise<any>;

  /** An answer to the model: its text is shown as it is, without a place in the script. */
  export class ToolError extends Error {
    /** The whole result of the tool that callTool called. */
    result?: Result;
  }
  /** The refusal of a request by the host. */
  export class HostError extends Error {
    kind?: "denied" | "invalid" | "unsupported" | "unavailable" | "timeout" | "limit" | "conflict";
    hint?: string;
    retryAfterMs?: number;
  }
}
