package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// The kinds of faults. Sallyport has a sentence for each.
const (
	faultRoot      = "root"      // the trusted root cannot be read
	faultMalformed = "malformed" // the bundle is no bundle
	faultVersion   = "version"   // it has a version that is not known here
	faultPart      = "part"      // it lacks a part
	faultProof     = "proof"     // its log entry has no proof
	faultKey       = "key"       // a key signed, and no identity
	faultUnlogged  = "unlogged"  // it has no log entry
	faultOtherLog  = "otherlog"  // the log is not in the trusted root
	faultPromise   = "promise"   // the log did not sign the entry
	faultEntry     = "entry"     // the log entry is for another signature
	faultLog       = "log"       // the proof of the log is wrong
	faultUntimed   = "untimed"   // nobody vouches for a time
	faultExpired   = "expired"   // the certificate was not valid at that time
	faultAuthority = "authority" // the certificate is of another authority
	faultUnlisted  = "unlisted"  // the certificate is in no log of certificates
	faultArtifact  = "artifact"  // the signature is for other bytes
	faultStatement = "statement" // the signed statement cannot be read, or names no bytes
	faultSignature = "signature" // the signature is wrong
)

// unreadable returns the fault of a bundle that cannot be read.
func unreadable(err error) string {
	switch {
	case errors.Is(err, bundle.ErrUnsupportedMediaType):
		return faultVersion
	case strings.Contains(err.Error(), "verifying signature"): // the library has no value for these two
		return faultSignature
	case strings.Contains(err.Error(), "inclusion p"):
		return faultProof
	case errors.Is(err, bundle.ErrValidation):
		return faultPart
	}
	return faultMalformed
}

// diagnose returns the fault of a bundle that the library refused. It decides nothing: the first check that fails names
// the fault, in the order of the library.
func diagnose(b *bundle.Bundle, trusted *root.TrustedRoot, digests map[string]string) (fault, detail string) {
	content, err := b.VerificationContent()
	if err != nil {
		return faultPart, err.Error()
	}
	if content.Certificate() == nil {
		return faultKey, ""
	}
	signature, err := b.SignatureContent()
	if err != nil {
		return faultPart, err.Error()
	}
	if fault, detail := diagnoseLog(b, trusted, content, signature); fault != "" {
		return fault, detail
	}
	if fault, detail := diagnoseCertificate(b, trusted, content); fault != "" {
		return fault, detail
	}
	return diagnoseArtifact(b, digests)
}

// diagnoseLog is the part of diagnose about the transparency log.
func diagnoseLog(b *bundle.Bundle, trusted *root.TrustedRoot, content verify.VerificationContent, signature verify.SignatureContent) (fault, detail string) {
	entries, err := b.TlogEntries()
	if err != nil {
		return faultPart, err.Error()
	}
	if len(entries) == 0 {
		return faultUnlogged, ""
	}
	logs := trusted.RekorLogs()
	known := slices.DeleteFunc(entries, func(e *tlog.Entry) bool { return logs[hex.EncodeToString([]byte(e.LogKeyID()))] == nil })
	if len(known) == 0 {
		return faultOtherLog, ""
	}
	for _, e := range known {
		switch {
		case e.HasInclusionPromise() && tlog.VerifySET(e, logs) != nil:
			return faultPromise, ""
		case !bytes.Equal(e.Signature(), signature.Signature()), !content.CompareKey(e.PublicKey(), trusted):
			return faultEntry, ""
		case !e.IntegratedTime().IsZero() && !content.ValidAtTime(e.IntegratedTime(), trusted):
			return faultExpired, validity(content, e.IntegratedTime())
		}
	}
	if _, err := verify.VerifyTlogEntry(b, trusted, 1, true); err != nil {
		return faultLog, err.Error()
	}
	return "", ""
}

// diagnoseCertificate is the part of diagnose about the certificate and its time.
func diagnoseCertificate(b *bundle.Bundle, trusted *root.TrustedRoot, content verify.VerificationContent) (fault, detail string) {
	times, _ := verify.VerifyTlogEntry(b, trusted, 1, true)
	if stamps, _, err := verify.VerifySignedTimestamp(b, trusted); err == nil {
		for _, t := range stamps {
			times = append(times, *t)
		}
	}
	if len(times) == 0 {
		return faultUntimed, ""
	}
	leaf := content.Certificate()
	for _, t := range times {
		chains, err := verify.VerifyLeafCertificate(t.Time, leaf, trusted)
		if err == nil {
			err = verify.VerifySignedCertificateTimestamp(chains, 1, trusted)
			if err != nil && len(trusted.CTLogs()) > 0 {
				return faultUnlisted, ""
			}
			continue
		}
		if _, err := verify.VerifyLeafCertificate(leaf.NotBefore, leaf, trusted); err == nil {
			return faultExpired, validity(content, t.Time)
		}
		return faultAuthority, leaf.Issuer.String()
	}
	return "", ""
}

// validity describes a time outside the validity of a certificate.
func validity(content verify.VerificationContent, at time.Time) string {
	leaf := content.Certificate()
	return at.UTC().Format(time.RFC3339) + ", and it was valid from " + leaf.NotBefore.UTC().Format(time.RFC3339) + " to " + leaf.NotAfter.UTC().Format(time.RFC3339)
}

// diagnoseArtifact is the part of diagnose about the signed bytes.
func diagnoseArtifact(b *bundle.Bundle, digests map[string]string) (fault, detail string) {
	algorithm := algorithmOf(b)
	if m := b.GetMessageSignature(); m != nil {
		if signed := hex.EncodeToString(m.GetMessageDigest().GetDigest()); signed != digests[algorithm] {
			return faultArtifact, algorithm + ":" + signed
		}
		return faultSignature, ""
	}
	s, err := statementOf(b)
	if err != nil || len(s.GetSubject()) == 0 {
		return faultStatement, ""
	}
	var first string
	for _, subject := range s.GetSubject() {
		switch signed := subject.GetDigest()[algorithm]; signed {
		case digests[algorithm]:
			return faultSignature, ""
		default:
			if first == "" {
				first = algorithm + ":" + signed
			}
		}
	}
	return faultArtifact, first
}
