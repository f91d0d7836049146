package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// Identity is an identity of sigstore that has to have signed.
type Identity struct {
	Issuer string // the identity provider, exactly
	// Name is the identity as the provider names it, or its beginning and "**".
	Name string
}

// String names an identity as the configuration does.
func (i Identity) String() string { return i.Name + " of " + i.Issuer }

// matches reports whether a signer has the identity.
func (i Identity) matches(s sigstore.Signer) bool {
	beginning, open := strings.CutSuffix(i.Name, "**")
	return i.Issuer == s.Issuer && (s.Identity == i.Name && !open || open && strings.HasPrefix(s.Identity, beginning))
}

// Check returns an error for an identity that its author can hardly mean: https://github.com/acme** is
// https://github.com/acme-evil too.
func (i Identity) Check() error {
	beginning, open := strings.CutSuffix(i.Name, "**")
	switch {
	case i.Issuer == "":
		return errors.New("issuer: is missing: {issuer: https://token.actions.githubusercontent.com, identity: …}")
	case i.Name == "":
		return errors.New("identity: is missing: {issuer: …, identity: https://github.com/acme/weather/**}")
	case strings.Contains(i.Issuer, "*"), strings.Contains(beginning, "*"):
		return errors.New("a star stands only at the end of identity:, as **")
	case open && !strings.HasSuffix(beginning, "/") && !strings.HasSuffix(beginning, "@"):
		return errors.New("** follows a slash or an @: https://github.com/acme/weather/**")
	case open && strings.Count(beginning, "/") < 4:
		return errors.New("** follows the name of an owner at least: https://github.com/acme/**")
	}
	return nil
}

// SignatureError is a signature that a policy refuses. Its text is a sentence for the operator.
type SignatureError struct {
	Err  error
	Next string // the next step, with the command to type
}

// Error returns the reason.
func (e *SignatureError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *SignatureError) Unwrap() error { return e.Err }

// signedBy returns the signer of an artifact that the policy requires, and the provenance that required signers state.
func (p Policy) signedBy(ctx context.Context, a *Artifact, v sigstore.Verifier) (Signed, error) {
	if len(a.bundles) == 0 {
		return Signed{}, &SignatureError{
			fmt.Errorf("it has no signature of sigstore, and one by %s is required", p.identities()),
			a.signCommand() + " makes one, as " + p.Require[0].Name,
		}
	}
	if a.Tool != nil && !a.whole {
		return Signed{}, &SignatureError{errors.New("its tool file is not covered by the signature"), "tar -czf PLUGIN.tar.gz PLUGIN.wasm PLUGIN.tool.yaml makes an archive of both, to sign and to add"}
	}
	var found Signed
	var refusal error
	for _, b := range a.bundles {
		signer, err := b.verify(ctx, v)
		if err == nil {
			err = p.accepts(signer)
		}
		if err != nil {
			refusal = closer(refusal, err)
			continue
		}
		found.By = Identity{signer.Issuer, signer.Identity}.String()
		if signer.Provenance != nil {
			found.Provenance = signer.Provenance
		}
	}
	if found.By == "" {
		return Signed{}, refusal
	}
	return found, nil
}

// Witness returns the signer of an artifact whom no policy requires, and the provenance that it states: of the verified
// bundles that FetchBundles has fetched, the first with a provenance, else the first. The zero value is none.
func Witness(ctx context.Context, a *Artifact, v sigstore.Verifier) (found Signed) {
	if a.Tool != nil && !a.whole {
		return found
	}
	for _, b := range a.bundles {
		signer, err := b.verify(ctx, v)
		if err != nil || vouches(signer.Statement) != nil || found.By != "" && signer.Provenance == nil {
			continue
		}
		if found = (Signed{Identity{signer.Issuer, signer.Identity}.String(), signer.Provenance}); found.Provenance != nil {
			break
		}
	}
	return found
}

// closer returns the error of two that is about a signature which came further: that of a signer who is not required.
func closer(a, b error) error {
	var fault *sigstore.Fault
	if a == nil || errors.As(a, &fault) && !errors.As(b, &fault) {
		return b
	}
	return a
}

// accepts returns an error for a signer that is not required, or a statement that does not vouch for the bytes.
func (p Policy) accepts(s sigstore.Signer) error {
	var sameName, sameIssuer bool
	for _, i := range p.Require {
		if i.matches(s) {
			return vouches(s.Statement)
		}
		sameIssuer = sameIssuer || i.Issuer == s.Issuer
		sameName = sameName || Identity{s.Issuer, i.Name}.matches(s)
	}
	take := fmt.Sprintf("require: {issuer: %s, identity: %s} in the configuration takes it, if you know that signer; sallyport add SOURCE again", s.Issuer, s.Identity)
	switch {
	case sameName:
		return &SignatureError{fmt.Errorf("%s signed it, as the issuer %s vouches, and %s is required", s.Identity, s.Issuer, p.identities()), take}
	case sameIssuer:
		return &SignatureError{fmt.Errorf("the identity %s signed it, and %s is required", s.Identity, p.identities()), take}
	}
	return &SignatureError{fmt.Errorf("a stranger signed it, %s of %s, and %s is required", s.Identity, s.Issuer, p.identities()), take}
}

// vouches returns an error for a statement whose signer does not vouch for the bytes by it: a list of their faults is
// signed too.
func vouches(statement string) error {
	switch statement {
	case "", "https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2":
		return nil
	}
	return &SignatureError{fmt.Errorf("its signer states something else about it, %.100q, and does not vouch for it", statement),
		"cosign sign-blob FILE --bundle FILE.sigstore.json signs it, or an attestation of SLSA provenance"}
}

// identities lists the required identities.
func (p Policy) identities() string {
	var all []string
	for _, i := range p.Require {
		all = append(all, i.String())
	}
	return strings.Join(all, " or ")
}
