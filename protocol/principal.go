package protocol

// anonymous is the principal for whom nothing is kept: nobody can tell who it is.
const anonymous = "anonymous"

// durable reports whether a principal's tasks outlive the process: nobody can prove to be the same
// anonymous.
func durable(principal string) bool { return principal != "" && principal != anonymous }
