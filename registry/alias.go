package registry

import (
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/serving"
)

// What the catalogue is made of.
type (
	Call     = catalogue.Call
	Change   = catalogue.Change
	Client   = catalogue.Client
	Failure  = catalogue.Failure
	GoFunc   = serving.Func
	Prompt   = catalogue.Prompt
	Reader   = catalogue.Reader
	Skill    = catalogue.Skill
	Snapshot = catalogue.Snapshot
	Tool     = catalogue.Tool
	Verdict  = catalogue.Verdict
)
