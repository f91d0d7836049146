// Package command implements the ABI of WASI programs: modules that export _start and know nothing of MCP. Custom
// section Section of the module holds a tool file as JSON, which maps each tool to a command line and its outcome to a
// result:
//
//	arguments ─▶ Tool ─▶ argv, environment, standard input ─▶ _start
//	                                                             │ exit code, standard output and error
//	   result ◀── output, exit ◀─────────────────────────────────┘
//
// An argument of the program is a text of the tool file or one value of the caller, never a mix of both, except that
// an option may carry its value: --name={value}. There is no shell. A value that begins with a dash is refused where
// the program could read it as an option.
//
// Each call runs in an instance of its own. Standard input is a text or at its end, no stream is a terminal, and
// standard output is bounded by the limit on results.
package command
