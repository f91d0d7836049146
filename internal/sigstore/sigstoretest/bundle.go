package sigstoretest

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// Spec describes a bundle. Issuer, Identity and Content are required.
type Spec struct {
	Issuer, Identity string
	Content          []byte         // the signed bytes
	Statement        string         // type of the predicate about them; "" is a signature of the bytes themselves
	Predicate        map[string]any // of the statement
	InToto           bool           // the log has the statement as cosign logged it before 2.1: an entry of in-toto, and not of DSSE
	Delay            time.Duration  // of the log, after the certificate
	Log              *Authority     // whose log has the signature; nil is this one's
	Forged           bool           // a key other than the certificate's signs, also for the log
	Unlisted         bool           // the certificate is in no log of certificates
	Unpromised       bool           // the log has only proved the entry, and did not sign its time
	Edit             func(Bundle)   // changes the bundle at the end; nil is none
}

// Bundle is a bundle in JSON, as maps.
type Bundle map[string]any

func (s Spec) at() time.Time { return start.Add(time.Hour) }

// Material returns the member verificationMaterial.
func (b Bundle) Material() map[string]any { return b["verificationMaterial"].(map[string]any) }

// Entry returns the entry of the log.
func (b Bundle) Entry() map[string]any {
	return b.Material()["tlogEntries"].([]any)[0].(map[string]any)
}

// Message returns the member messageSignature.
func (b Bundle) Message() map[string]any { return b["messageSignature"].(map[string]any) }

// Envelope returns the signed statement, as JSON.
func (b Bundle) Envelope() []byte { return encoded(b["dsseEnvelope"]) }

// Certificate returns the certificate of the signer.
func (b Bundle) Certificate() []byte {
	return b.Material()["certificate"].(map[string]any)["rawBytes"].([]byte)
}

// Sign returns a bundle.
func (a *Authority) Sign(t testing.TB, s Spec) []byte {
	t.Helper()
	return encoded(a.Bundle(t, s))
}

// Bundle returns a bundle before it is encoded.
func (a *Authority) Bundle(t testing.TB, s Spec) Bundle {
	t.Helper()
	key := newKey(t)
	leaf := a.certificate(t, s, key)
	if s.Forged {
		key = newKey(t)
	}
	b := Bundle{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}
	var body []byte
	if s.Statement == "" {
		body = b.message(t, s, key, leaf)
	} else {
		body = b.envelope(t, s, key, leaf)
	}
	b["verificationMaterial"] = map[string]any{
		"certificate": map[string]any{"rawBytes": leaf},
		"tlogEntries": []any{cmp.Or(s.Log, a).entry(t, s, body)},
	}
	if s.Edit != nil {
		s.Edit(b)
	}
	return b
}

// message adds a signature of the content, and returns the body of its log entry.
func (b Bundle) message(t testing.TB, s Spec, key *ecdsa.PrivateKey, leaf []byte) []byte {
	sum, sig := sha256.Sum256(s.Content), sign(t, key, s.Content)
	b["messageSignature"] = map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": sig}
	return encoded(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data":      map[string]any{"hash": map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}},
		"signature": map[string]any{"content": sig, "publicKey": map[string]any{"content": pemOf(leaf)}},
	}})
}

// payloadType is that of statements of in-toto.
const payloadType = "application/vnd.in-toto+json"

// envelope adds a signed statement about the content, and returns the body of its log entry.
func (b Bundle) envelope(t testing.TB, s Spec, key *ecdsa.PrivateKey, leaf []byte) []byte {
	sum := sha256.Sum256(s.Content)
	payload := encoded(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": s.Statement, "predicate": s.Predicate,
		"subject": []any{map[string]any{"name": "plugin", "digest": map[string]any{"sha256": hex.EncodeToString(sum[:])}}},
	})
	sig := sign(t, key, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	envelope := map[string]any{"payload": payload, "payloadType": payloadType, "signatures": []any{map[string]any{"sig": sig}}}
	b["dsseEnvelope"] = envelope
	if s.InToto {
		return inTotoEntry(payload, sig, leaf)
	}
	return encoded(map[string]any{"apiVersion": "0.0.1", "kind": "dsse", "spec": map[string]any{
		"envelopeHash": hashOf(encoded(envelope)), "payloadHash": hashOf(payload),
		"signatures": []any{map[string]any{"signature": base64.StdEncoding.EncodeToString(sig), "verifier": pemOf(leaf)}},
	}})
}

// inTotoEntry returns the body of a log entry of in-toto, which has the signature in base64 twice.
func inTotoEntry(payload, sig, leaf []byte) []byte {
	signature := map[string]any{"publicKey": pemOf(leaf), "sig": []byte(base64.StdEncoding.EncodeToString(sig))}
	return encoded(map[string]any{"apiVersion": "0.0.2", "kind": "intoto", "spec": map[string]any{"content": map[string]any{
		"envelope": map[string]any{"payloadType": payloadType, "signatures": []any{signature}}, "hash": hashOf(payload), "payloadHash": hashOf(payload),
	}}})
}

// hashOf returns a hash as log entries have it.
func hashOf(content []byte) map[string]any {
	sum := sha256.Sum256(content)
	return map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}
}

// logName is the name of the transparency log.
const logName = "rekor.test"

// entry returns an entry of the log: its promise with a time, and the proof in a tree of this entry alone.
func (a *Authority) entry(t testing.TB, s Spec, body []byte) map[string]any {
	var kind struct{ Kind, APIVersion string }
	must(t, json.Unmarshal(body, &kind))
	leaf := sha256.Sum256(append([]byte{0}, body...))
	at := s.at().Add(s.Delay).Unix()
	e := map[string]any{
		"logIndex": "0", "logId": map[string]any{"keyId": logID(a.log)}, "integratedTime": strconv.FormatInt(at, 10),
		"kindVersion": map[string]any{"kind": kind.Kind, "version": kind.APIVersion}, "canonicalizedBody": body,
		"inclusionProof": map[string]any{
			"logIndex": "0", "treeSize": "1", "rootHash": leaf[:], "hashes": []any{}, "checkpoint": map[string]any{"envelope": a.checkpoint(t, leaf[:])},
		},
	}
	if !s.Unpromised {
		e["inclusionPromise"] = map[string]any{"signedEntryTimestamp": a.promise(t, body, at)}
	}
	return e
}

// promise returns the signature of the log on an entry and its time.
func (a *Authority) promise(t testing.TB, body []byte, at int64) []byte {
	return sign(t, a.log, encoded(map[string]any{"body": body, "integratedTime": at, "logID": hex.EncodeToString(logID(a.log)), "logIndex": 0}))
}

// checkpoint returns the signed head of a tree with one entry.
func (a *Authority) checkpoint(t testing.TB, leaf []byte) string {
	text := fmt.Sprintf("%s - 1\n1\n%s\n", logName, base64.StdEncoding.EncodeToString(leaf))
	signature := bytes.Join([][]byte{logID(a.log)[:4], sign(t, a.log, []byte(text))}, nil)
	return fmt.Sprintf("%s\n— %s %s\n", text, logName, base64.StdEncoding.EncodeToString(signature))
}

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

// PEM returns a certificate as cosign writes it.
func PEM(certificate []byte) string { return string(pemOf(certificate)) }

// LogID returns the number of the log in an entry, in hex.
func LogID(entry map[string]any) string {
	return hex.EncodeToString(entry["logId"].(map[string]any)["keyId"].([]byte))
}
