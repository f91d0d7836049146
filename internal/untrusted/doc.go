// Package untrusted limits the metadata that a plugin may publish: reserved _meta keys, pages that clients show, icons,
// arguments repeated in HTTP headers, and names of secrets in forms.
//
//	_meta           keys reserved for MCP and this host          StripMeta, CleanMeta
//	_meta.ui        origins and permissions of a page            ConfineUI
//	icons           sources that a client may load               KeepIcons
//	x-mcp-header    arguments that a tool wants in headers       FindHeaderParams
//	form fields     names that ask for a secret                  NamesSecret
package untrusted
