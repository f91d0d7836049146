package sigstore

import (
	"fmt"
	"strings"
)

// Fault is the reason why a bundle does not verify. Its text is a sentence for the operator.
type Fault struct {
	Kind   string // of the program, or one of this package
	Detail string

	root string // the file of the trusted root
}

// maxDetail limits the part of a sentence that comes from a bundle, in bytes.
const maxDetail = 300

// signAgain is the command that makes a bundle which verifies.
const signAgain = "cosign sign-blob FILE --bundle FILE.sigstore.json signs again"

// fetchAgain is the next step after bytes were changed on their way, or of two releases.
const fetchAgain = "take the plugin and its signature from one release; sallyport add SOURCE fetches both again"

// trustUpdate is the next step after a refusal that a newer trusted root could lift.
const trustUpdate = "sallyport trust update fetches the newest trusted root; trusted_root: in the configuration names the one of another instance"

// sentence is the text of a fault, with %s for its detail, and the next step.
type sentence struct{ text, next string }

// sentences returns the texts of faults by their kinds.
func sentences() map[string]sentence {
	return map[string]sentence{
		"noroot":    {"no trusted root is there yet, without which no signature of sigstore can be verified", trustUpdate},
		"noprogram": {"%s is missing, which verifies signatures of sigstore", "install the whole release, or go build the folder cmd/" + Program + " and put it there"},
		"program":   {Program + " failed: %s", "install the whole release again; sallyport --version names it"},
		"root":      {"the trusted root cannot be read: %s", trustUpdate},

		"update": {"the mirror has no trusted root that its metadata vouch for: %s", "sallyport trust update tries again; --mirror and --root name another mirror"},

		"large":     {fmt.Sprintf("its bundle is over %d KiB", MaxBundle>>10), signAgain},
		"malformed": {"its bundle is no sigstore bundle", signAgain},
		"version":   {"its bundle has a version that is not known here: %s", "cosign sign-blob FILE --bundle FILE.sigstore.json --new-bundle-format writes version 0.3"},
		"part":      {"its bundle lacks a part: %s", signAgain},
		"proof":     {"its bundle has an entry of the transparency log without its proof: %s", signAgain},
		"key":       {"a key signed it, and no identity", "cosign sign-blob without --key signs with an identity; a key of minisign is required by {minisign: KEY}"},

		"unlogged": {"its signature is in no transparency log", signAgain + ", if it is without --tlog-upload=false"},
		"otherlog": {"its signature is in a transparency log that the trusted root does not name", trustUpdate},
		"promise":  {"its entry of the transparency log was changed: the log did not sign it", fetchAgain},
		"entry":    {"its entry of the transparency log is for another signature", fetchAgain},
		"log":      {"the proof of its entry in the transparency log is wrong", fetchAgain},

		"untimed":   {"neither a log nor a timestamp authority vouches for the time of its signature", signAgain + ", with --timestamp-server-url for a log that signs no times"},
		"expired":   {"its certificate was not valid at the time of the signature: %s", signAgain},
		"authority": {"its certificate is of an authority that the trusted root does not name: %s", trustUpdate},
		"unlisted":  {"its certificate is in no log of certificates that the trusted root names", trustUpdate},

		"artifact":  {"its signature is for other bytes: %s", fetchAgain},
		"statement": {"its signed statement names no bytes", "cosign attest-blob FILE --bundle FILE.sigstore.json, or sign-blob, names them"},
		"signature": {"its signature is wrong: it was changed, or is of another key than the certificate's", fetchAgain},
	}
}

// Error returns the sentence of the fault.
func (f *Fault) Error() string {
	s, ok := sentences()[f.Kind]
	if !ok {
		s.text = "its bundle does not verify: %s"
	}
	if f.Kind == "noroot" {
		return s.text + ": " + f.root
	}
	return strings.Replace(s.text, "%s", f.Detail[:min(len(f.Detail), maxDetail)], 1)
}

// Next returns the next step of the operator, with the command to type.
func (f *Fault) Next() string {
	if s, ok := sentences()[f.Kind]; ok {
		return s.next
	}
	return signAgain
}
