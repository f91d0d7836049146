package main

import (
	"cmp"
	"encoding/json"
	"strings"

	in_toto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"google.golang.org/protobuf/encoding/protojson"
)

// provenance is the origin of a build: by the certificate, else by a statement of SLSA.
type provenance struct {
	Builder string `json:"builder,omitempty"`
	Source  string `json:"source,omitempty"` // the repository
	Commit  string `json:"commit,omitempty"`
	Ref     string `json:"ref,omitempty"` // refs/tags/v1.2.0
}

// slsa are the members of both versions of the predicate that are shown.
type slsa struct {
	BuildDefinition struct {
		ExternalParameters struct {
			Workflow struct{ Ref, Repository string }
		}
		ResolvedDependencies []struct {
			URI    string
			Digest map[string]string
		}
	}
	RunDetails struct{ Builder struct{ ID string } }
	Builder    struct{ ID string }
	Invocation struct {
		ConfigSource struct {
			URI    string
			Digest map[string]string
		}
	}
}

// provenanceOf returns the provenance in a verified statement, nil if it is about something else.
func provenanceOf(s *in_toto.Statement, c *certificate.Summary) *provenance {
	if !strings.HasPrefix(s.GetPredicateType(), "https://slsa.dev/provenance/") {
		return nil
	}
	raw, err := protojson.Marshal(s.GetPredicate())
	var p slsa
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return &provenance{}
	}
	source, ref, _ := strings.Cut(strings.TrimPrefix(p.Invocation.ConfigSource.URI, "git+"), "@")
	workflow := p.BuildDefinition.ExternalParameters.Workflow
	commit := p.Invocation.ConfigSource.Digest["sha1"]
	for _, d := range p.BuildDefinition.ResolvedDependencies {
		commit = cmp.Or(commit, d.Digest["gitCommit"])
	}
	return &provenance{
		Builder: cmp.Or(p.RunDetails.Builder.ID, p.Builder.ID),
		Source:  cmp.Or(c.SourceRepositoryURI, workflow.Repository, source),
		Commit:  cmp.Or(c.SourceRepositoryDigest, commit),
		Ref:     cmp.Or(c.SourceRepositoryRef, workflow.Ref, ref),
	}
}
