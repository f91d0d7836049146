package script

import _ "embed"

//go:embed types/sallyport.d.ts
var types string

// Types returns the declarations of the library, for editors: sallyport.d.ts.
func Types() string { return types }
