package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// Limits of a search in a registry of MCP servers.
const (
	pageSize    = 100
	maxPages    = 10
	maxExamined = 64 // images whose manifests are read
	examiners   = 4  // at once
)

// official is the member of _meta with the state of a server.
const official = "io.modelcontextprotocol.registry/official"

// serverPage is a page of GET /v0.1/servers.
type serverPage struct {
	Servers  []json.RawMessage `json:"servers"`
	Metadata struct {
		Next string `json:"nextCursor"`
	} `json:"metadata"`
}

// serverJSON is one server of a page: its server.json, and the state that the registry adds.
type serverJSON struct {
	Server struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		Version     string        `json:"version"`
		Packages    []packageJSON `json:"packages"`
	} `json:"server"`
	Meta map[string]struct {
		Status string `json:"status"`
	} `json:"_meta"`
}

// packageJSON is a package of a server.json.
type packageJSON struct {
	Type       string `json:"registryType"`
	BaseURL    string `json:"registryBaseUrl"` // of documents before the one of September 2025
	Identifier string `json:"identifier"`
	Version    string `json:"version"`
}

// serverName matches the names of server.json.
var serverName = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,200}/[a-zA-Z0-9._-]{1,100}$`)

// searchServers returns the servers of a registry that have an image with a WebAssembly module. All its requests have the
// time of one fetch.
func (a Address) searchServers(ctx context.Context, f *source.Fetcher, q Query) (found Found, err error) {
	if q.Name != "" && !serverName.MatchString(q.Name) {
		return found, nil // a registry has no such name
	}
	bounded, cancel := f.Bounded(ctx)
	defer cancel()
	var all []Entry
	cursor := ""
	for page := 0; ; page++ {
		if page == maxPages {
			found.skip("%s has more than %d servers for this search: write more of the name", a, maxPages*pageSize)
			break
		}
		p, err := a.page(bounded, f, q, cursor)
		if err != nil {
			return found, err
		}
		for _, raw := range p.Servers {
			if at, twice := jsonraw.AmbiguousKey(raw); twice {
				found.skip("%s: a server has a key twice, %.200q: it is not read", a, at)
				continue
			}
			var s serverJSON
			if err := json.Unmarshal(raw, &s); err != nil {
				found.skip("%s: a server is not read: %v", a, err)
				continue
			}
			all = append(all, a.images(s, q, &found)...)
		}
		if cursor = p.Metadata.Next; cursor == "" {
			break
		}
	}
	if err := a.examine(bounded, f, all, &found); err != nil {
		return found, err
	}
	return found, ctx.Err()
}

// page fetches a page of the list.
func (a Address) page(ctx context.Context, f *source.Fetcher, q Query, cursor string) (p serverPage, err error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}, "version": {"latest"}}
	if word := q.Name + q.Word; word != "" {
		query.Set("search", word)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	r, err := source.Parse(strings.TrimSuffix(a.ref.String(), "/") + "/v0.1/servers?" + query.Encode())
	if err != nil {
		return p, err
	}
	raw, err := f.Document(ctx, r)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.Servers == nil {
		return p, fmt.Errorf("%s answers with no list of servers: is it a registry of MCP servers?", a)
	}
	return p, nil
}

// images returns an entry, without a digest, for each image of a server that the query selects.
func (a Address) images(s serverJSON, q Query, found *Found) (all []Entry) {
	name := s.Server.Name
	// The registry searches names; its answer is not trusted to.
	if q.Name != "" && name != q.Name || s.Meta[official].Status == "deleted" {
		return nil
	}
	if !serverName.MatchString(name) || len(s.Server.Description) > maxText || len(s.Server.Version) > maxText {
		found.skip("%s: the server %.80q has a bad name, or too long texts: it is not read", a, name)
		return nil
	}
	for _, p := range s.Server.Packages {
		if p.Type != "oci" {
			continue
		}
		r, err := source.Parse("oci://" + p.image())
		if err != nil {
			found.skip("%s: %s: %v", a, name, err)
			continue
		}
		r = r.Suggested(a.ref)
		all = append(all, Entry{Name: name, Version: s.Server.Version, Description: s.Server.Description, Index: a.text, From: r.Moving(), Source: r})
	}
	return all
}

// image returns the reference of an image, which older documents have in three members.
func (p packageJSON) image() string {
	image := p.Identifier
	if base, err := url.Parse(p.BaseURL); err == nil && base.Host != "" && !strings.HasPrefix(image, base.Host+"/") {
		image = base.Host + "/" + image
	} else if first, _, _ := strings.Cut(image, "/"); !strings.ContainsAny(first, ".:") && first != "localhost" {
		image = "docker.io/" + image
	}
	if last := image[strings.LastIndexByte(image, '/')+1:]; p.Version != "" && !strings.ContainsAny(last, ":@") {
		image += ":" + p.Version
	}
	return image
}

// examine adds the entries whose image has a module, with its digest.
func (a Address) examine(ctx context.Context, f *source.Fetcher, all []Entry, found *Found) error {
	if more := len(all) - maxExamined; more > 0 {
		found.skip("%s: %d images more are not examined: write more of the name", a, more)
		all = all[:maxExamined]
	}
	type examined struct {
		digest string
		module bool
		err    error
	}
	results := make([]examined, len(all))
	var wait sync.WaitGroup
	free := make(chan struct{}, examiners)
	for i := range all {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			r := &results[i]
			r.digest, r.module, r.err = f.Examine(ctx, all[i].Source)
		})
	}
	wait.Wait()
	others := 0
	for i, r := range results {
		var failed *source.Error
		switch {
		case errors.As(r.err, &failed):
			found.skip("%s: %v", all[i].Name, failed)
		case r.err != nil:
			return r.err
		case !r.module:
			others++
		default:
			all[i].Digest = r.digest
			found.Entries = append(found.Entries, all[i])
		}
	}
	if others > 0 {
		found.skip("%s: images without WebAssembly: %d", a, others)
	}
	return nil
}
