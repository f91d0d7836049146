// Package extism is the calling convention of Extism plugins: those of hyper-mcp, of both its
// versions, and the servlets of mcp.run, as they are.
//
//	host                                      guest
//	 request ─▶ JSON ─▶ input block ─▶ export "call", "call_tool", …  () -> i32
//	                                      │ alloc, load_*, store_*, output_set, error_set …
//	 result ◀── JSON ◀─ output block ◀────┘ 0: fine; else, or with an error text: it failed
//
// Host and guest share a memory beside the guest's own, which the guest reads and writes by calls of
// the kernel, extism:host/env. In Extism the kernel is a second WebAssembly module; here it is a
// byte slice, with offsets, block reuse and limits as the original has them.
//
// A plugin is of the first kind (V1) if it exports both call and describe, else of the second (V2):
// see serveV1 and serveV2. Everything that a plugin does to the world passes through runtime.Gate:
//
//	http_request            http/fetch; a refusal ends the call, for a guest cannot be told of it
//	config_get              Configured
//	log_*, notify_*         notifications/…; what is not taken is dropped
//	create_elicitation      elicitation/create, or else {"action":"decline"}
//	create_message          sampling/createMessage; a refusal ends the call
//	list_roots              roots/list, or else none
//	get_access_token        null, always
//	get_keyring_secret      nothing, always
//	var_get, var_set        kept by the call, and gone with it
//
// The shared memory of a call is bounded by the same limit as the guest's own, each by itself. A guest
// that reads or writes outside of it with 64 bits at once is ended; every other wrong offset is
// harmless.
package extism
