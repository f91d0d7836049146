// Package sigstoretest is an instance of sigstore for tests: a certificate authority, a transparency log and a log of
// certificates, with their trusted root, and the bundles that a signer gets from them.
//
//	a := sigstoretest.New(t)
//	os.WriteFile(root, a.Root(), 0o600)
//	bundle := a.Sign(t, sigstoretest.Spec{Issuer: …, Identity: …, Content: wasm})
package sigstoretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// Start is the time from which the authority and its logs are valid.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// validity is that of a signer's certificate.
const validity = 10 * time.Minute

// Authority is an instance of sigstore.
type Authority struct {
	root, issuing       *x509.Certificate
	key                 *ecdsa.PrivateKey // of issuing
	log, certificateLog *ecdsa.PrivateKey
}

// New makes an instance with keys of its own.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t), log: newKey(t), certificateLog: newKey(t)}
	rootKey := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"}, NotBefore: start, NotAfter: start.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	a.root = certify(t, template, template, &rootKey.PublicKey, rootKey)
	template.Subject.CommonName, template.ExtKeyUsage = "test authority", []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	a.issuing = certify(t, template, a.root, &a.key.PublicKey, rootKey)
	return a
}

// Root returns the trusted root of the instance.
func (a *Authority) Root() []byte {
	valid := map[string]any{"start": start}
	log := func(key *ecdsa.PrivateKey, address string) []any {
		return []any{map[string]any{
			"baseUrl": address, "hashAlgorithm": "SHA2_256", "logId": map[string]any{"keyId": logID(key)},
			"publicKey": map[string]any{"rawBytes": spki(key), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid},
		}}
	}
	return encoded(map[string]any{
		"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs":     log(a.log, "https://"+logName), "ctlogs": log(a.certificateLog, "https://ct.test"),
		"certificateAuthorities": []any{map[string]any{
			"uri": "https://fulcio.test", "validFor": valid,
			"certChain": map[string]any{"certificates": []any{map[string]any{"rawBytes": a.issuing.Raw}, map[string]any{"rawBytes": a.root.Raw}}},
		}},
	})
}

// Extensions of certificates.
var (
	oidIssuer = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	oidSCTs   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// certificate returns a certificate of an identity for a key, which the log of certificates has unless it is unlisted.
func (a *Authority) certificate(t testing.TB, s Spec, key *ecdsa.PrivateKey) []byte {
	issuer, err := asn1.MarshalWithParams(s.Issuer, "utf8")
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: s.at(), NotAfter: s.at().Add(validity), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, ExtraExtensions: []pkix.Extension{{Id: oidIssuer, Value: issuer}},
	}
	if strings.Contains(s.Identity, "://") {
		u, err := url.Parse(s.Identity)
		must(t, err)
		template.URIs = []*url.URL{u}
	} else {
		template.EmailAddresses = []string{s.Identity}
	}
	leaf := certify(t, template, a.issuing, &key.PublicKey, a.key)
	if s.Unlisted {
		return leaf.Raw
	}
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: oidSCTs, Value: a.listed(t, leaf)})
	return certify(t, template, a.issuing, &key.PublicKey, a.key).Raw
}

// listed returns the promise of the log of certificates to list one, as RFC 6962 encodes it.
func (a *Authority) listed(t testing.TB, leaf *x509.Certificate) []byte {
	at := binary.BigEndian.AppendUint64(nil, uint64(leaf.NotBefore.UnixMilli()))
	issuer := sha256.Sum256(a.issuing.RawSubjectPublicKeyInfo)
	tbs := leaf.RawTBSCertificate
	signed := slices.Concat([]byte{0, 0}, at, []byte{0, 1}, issuer[:], []byte{byte(len(tbs) >> 16), byte(len(tbs) >> 8), byte(len(tbs))}, tbs, []byte{0, 0})
	sig := sign(t, a.certificateLog, signed)
	sct := slices.Concat([]byte{0}, logID(a.certificateLog), at, []byte{0, 0, 4, 3}, binary.BigEndian.AppendUint16(nil, uint16(len(sig))), sig)
	list := binary.BigEndian.AppendUint16(nil, uint16(len(sct)+2))
	list = append(binary.BigEndian.AppendUint16(list, uint16(len(sct))), sct...)
	value, err := asn1.Marshal(list)
	must(t, err)
	return value
}

func certify(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	must(t, err)
	c, err := x509.ParseCertificate(raw)
	must(t, err)
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func sign(t testing.TB, key *ecdsa.PrivateKey, content []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(content)
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	must(t, err)
	return sig
}

// spki returns the public part of a key, and logID the number of a log with that key.
func spki(key *ecdsa.PrivateKey) []byte {
	raw, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err) // no key of P-256 is without this form
	}
	return raw
}

func logID(key *ecdsa.PrivateKey) []byte {
	sum := sha256.Sum256(spki(key))
	return sum[:]
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts, bytes and times
	}
	return raw
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
