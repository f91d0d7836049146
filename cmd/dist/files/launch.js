#!/usr/bin/env node
// Starts the program in the package that npm chose for this system. Standard streams are its own; signals and the exit code
// are passed on.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const system = `@sallyport-mcp/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${system}/sallyport${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`sallyport: the package ${system} is not installed. npm leaves it out with --omit=optional, and there is none for every system.`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`sallyport: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
