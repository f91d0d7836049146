package script

import _ "embed"

//go:embed types/sallyport.d.ts
var types string

//go:embed types/sallyport.pyi
var pythonTypes string

// Types returns the declarations of the library of TypeScript, for editors: sallyport.d.ts.
func Types() string { return types }

// PythonTypes returns the declarations of the library of Python, for editors: sallyport.pyi.
func PythonTypes() string { return pythonTypes }
