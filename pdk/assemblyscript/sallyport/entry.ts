export { mcp_handle } from "./plugin";
