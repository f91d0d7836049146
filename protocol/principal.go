package protocol

// anonymous is the shared principal of unidentified callers. No state is kept for it.
const anonymous = "anonymous"

// durable reports whether tasks of a principal outlive the process. Anonymous callers cannot prove their identity
// later.
func durable(principal string) bool { return principal != "" && principal != anonymous }
