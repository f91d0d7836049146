// Package secret reads secret values, and redacts them in output of plugins and servers.
//
// A Source names the place of a value: the environment, a file, or the keyring of the operating system.
//
//	s, err := secret.ParseSource("keyring sallyport/GITHUB_TOKEN")
//	value, err := s.Read(home)
//
// A Redactor replaces values in text: plain, in hex or in base64, inside nested escapes of JSON, URLs, forms, HTML
// and string literals, and across the chunks of a stream. It is only a second line of defense. The first is that a
// value is inserted outside of the guest, so that the guest never holds it. Values in pieces, or in an unknown
// encoding, are not detected.
//
//	r := secret.NewRedactor(secret.Value{Name: "TOKEN", Text: "0123456789abcdef"})
//	r.Text([]byte("MDEyMzQ1Njc4OWFiY2RlZg==")) // [secret:TOKEN]
//
// A Vault manages the secrets of one plugin: it reads their values, gives the plugin placeholders instead, and redacts
// the values in responses.
//
//	v := secret.NewVault(home, key, "github", secret.Kept{Dir: dir})
//	text, err := v.Value(line, "")        // cached for a minute, so that a rotated token is in use soon
//	env["TOKEN"] = v.Placeholder("TOKEN") // of use to no other plugin
//	clean := v.Redactor().Text(answer)
package secret
