// Package secret reads secret values and takes them out of what others say.
//
// A Source says where a value is: in the environment, in a file, or in the keyring of the operating
// system.
//
//	s, err := secret.ParseSource("keyring sallyport/GITHUB_TOKEN")
//	value, err := s.Read()
//
// A Redactor replaces values in text that could be an echo of them: plain, in hex or in base64, with the escapes of JSON,
// addresses, forms, HTML and string literals around them, several of them together, at every place where a stream is
// cut. It is a second line only: that a guest never holds a value is held by where the value is put, and an echo in
// pieces, or in an encoding that is not known here, passes.
//
//	r := secret.NewRedactor(secret.Value{Name: "TOKEN", Text: "0123456789abcdef"})
//	r.Text([]byte("MDEyMzQ1Njc4OWFiY2RlZg==")) // [secret:TOKEN]
package secret
