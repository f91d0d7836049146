import { tool } from "sallyport";

tool("echo", "answers with its text", { text: "string" }, ({ text }: { text: string }): string => text);
