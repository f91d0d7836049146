// Package source fetches plugin files: from a path, from the web and from OCI registries. Nothing is unpacked to disk,
// and nothing runs.
//
//	ref, err := source.Parse("oci://ghcr.io/acme/weather:1.2")
//	artifact, err := fetcher.Fetch(ctx, ref)
//	// artifact.Content, artifact.Origin
//
// An OCI image is one of two layouts: the one of wkg, Wassette and wasmCloud, with a layer application/wasm, or the one
// of hyper-mcp, with a file plugin.wasm in a tar layer. Every size is bounded before memory is taken for it, and every
// digest is verified. A host that the reference names may be anywhere; the targets of redirects have to be public.
package source
