package protocol

import "github.com/sallyport-mcp/sallyport/protocol/paramheader"

// HeaderParam is one argument of a tool that modern clients repeat in an HTTP header.
type HeaderParam = paramheader.Param

// HeaderParams returns the arguments of the tool with that public name that come in headers too, in
// the order of the schema; nil if there are none or no such tool. The caller must not change it.
func (s *Server) HeaderParams(tool string) []HeaderParam {
	return s.current().headers[tool]
}
