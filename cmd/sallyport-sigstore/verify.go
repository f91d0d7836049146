package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	in_toto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// verification is a bundle to verify, without the signed bytes.
type verification struct {
	Root    json.RawMessage   `json:"root"`    // the trusted root
	Bundle  json.RawMessage   `json:"bundle"`  // a sigstore bundle
	Digests map[string]string `json:"digests"` // of the signed bytes: sha256, sha384 and sha512, in hex
}

// verdict is the answer: a signer, or a fault.
type verdict struct {
	Fault  string `json:"fault,omitempty"`  // its kind; "" if the bundle is valid
	Detail string `json:"detail,omitempty"` // a time, a digest, or an error of the library

	Issuer     string      `json:"issuer,omitempty"`   // the identity provider that the certificate names
	Identity   string      `json:"identity,omitempty"` // its subject: an address of mail, or of a workflow
	At         time.Time   `json:"at,omitzero"`        // the time of the signature, by the log or a timestamp authority
	Statement  string      `json:"statement,omitempty"`
	Provenance *provenance `json:"provenance,omitempty"`
}

// verdict verifies the bundle: against the trusted root, an entry of a transparency log, a time by that log or by a
// timestamp authority, the certificate, its own log if the root has one, and the digests. The identity is for the
// caller to compare.
func (v *verification) verdict() verdict {
	trusted, err := root.NewTrustedRootFromJSON(v.Root)
	if err != nil {
		return verdict{Fault: faultRoot, Detail: err.Error()}
	}
	var b bundle.Bundle
	if err := b.UnmarshalJSON(v.Bundle); err != nil {
		return verdict{Fault: unreadable(err), Detail: err.Error()}
	}
	result, err := v.verified(&b, trusted)
	if err != nil {
		fault, detail := diagnose(&b, trusted, v.Digests)
		if detail == "" {
			detail = err.Error()
		}
		return verdict{Fault: fault, Detail: detail}
	}
	return verdictOf(result)
}

// verified returns the result of the library.
func (v *verification) verified(b *bundle.Bundle, trusted *root.TrustedRoot) (*verify.VerificationResult, error) {
	options := []verify.VerifierOption{verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1)}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	verifier, err := verify.NewVerifier(trusted, options...)
	if err != nil {
		return nil, err
	}
	algorithm := algorithmOf(b)
	digest, err := hex.DecodeString(v.Digests[algorithm])
	if err != nil || len(digest) == 0 {
		return nil, fmt.Errorf("the request has no digest %s", algorithm)
	}
	return verifier.Verify(b, verify.NewPolicy(verify.WithArtifactDigest(algorithm, digest), verify.WithoutIdentitiesUnsafe()))
}

// algorithmOf returns the hash of the signed bytes that a bundle has.
func algorithmOf(b *bundle.Bundle) string {
	if m := b.GetMessageSignature(); m != nil {
		switch m.GetMessageDigest().GetAlgorithm().String() {
		case "SHA2_384":
			return "sha384"
		case "SHA2_512":
			return "sha512"
		}
		return "sha256"
	}
	s, err := statementOf(b)
	if err != nil {
		return "sha256"
	}
	for _, subject := range s.GetSubject() {
		if _, ok := subject.GetDigest()["sha256"]; ok {
			return "sha256"
		}
	}
	return "sha512"
}

// statementOf returns the statement in the envelope of a bundle, whether or not it is signed.
func statementOf(b *bundle.Bundle) (*in_toto.Statement, error) {
	envelope, err := b.Envelope()
	if err != nil {
		return nil, err
	}
	return envelope.Statement()
}

// verdictOf returns the verdict about a verified bundle.
func verdictOf(r *verify.VerificationResult) verdict {
	c := r.Signature.Certificate
	if c == nil {
		return verdict{Fault: faultKey}
	}
	v := verdict{Issuer: c.Issuer, Identity: c.SubjectAlternativeName, At: r.VerifiedTimestamps[0].Timestamp.UTC()}
	if s := r.Statement; s != nil {
		v.Statement = s.GetPredicateType()
		v.Provenance = provenanceOf(s, c)
	}
	return v
}
