package runtime

// CommandLine is the command line and the environment of a guest that is a program.
type CommandLine struct {
	Args []string // with the program's name first; an empty name is that of the plugin
	Env  []string // NAME=VALUE
	// Secrets are the variables with the placeholder of a secret, and the name of each secret.
	Secrets map[string]string
}
