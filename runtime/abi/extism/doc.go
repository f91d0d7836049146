// Package extism implements the ABI of Extism plugins: those of hyper-mcp, in both its versions, and the servlets of
// mcp.run, without changes.
//
//	host                                      guest
//	 request ─▶ JSON ─▶ input block ─▶ export "call", "call_tool", …  () -> i32
//	                                      │ alloc, load_*, store_*, output_set, error_set …
//	 result ◀── JSON ◀─ output block ◀────┘ 0: success; else, or with an error text: failure
//
// Host and guest share a memory beside the guest's own, which the guest accesses through functions of the kernel,
// extism:host/env. In Extism the kernel is a second WebAssembly module; here it is a byte slice, with the offsets,
// block reuse and limits of the original.
//
// A plugin that exports both call and describe is of the first version (V1), any other of the second (V2): see serveV1
// and serveV2. All effects of a plugin pass through runtime.Gate:
//
//	http_request            http/fetch; a denial ends the call, since the ABI cannot report it to the guest
//	config_get              Configured
//	log_*, notify_*         notifications/…; dropped if not accepted
//	create_elicitation      elicitation/create, or else {"action":"decline"}
//	create_message          sampling/createMessage; a denial ends the call
//	list_roots              roots/list, or else an empty list
//	get_access_token        Secretive, the secret ACCESS_TOKEN, or else null
//	get_keyring_secret      Secretive, the secret from that entry, or else empty
//	var_get, var_set        for the duration of the call
//
// The shared memory and the guest's own memory are each bounded by Limits.Memory. A guest that reads or writes 64 bits
// out of bounds of the shared memory is ended; every other invalid offset is harmless.
package extism
