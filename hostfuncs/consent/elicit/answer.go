package elicit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// List returns the pending forms, oldest first.
func List(ctx context.Context, s *store.Store) ([]Form, error) {
	found, err := s.List(ctx, store.Form, "", "", 0)
	if err != nil {
		return nil, err
	}
	var all []Form
	for _, r := range found {
		if f, answered, ok := formOf(r); ok && !answered {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Form) int { return cmp.Compare(a.Asked.UnixMilli(), b.Asked.UnixMilli()) })
	return all, nil
}

func formOf(r store.Record) (f Form, answered, ok bool) {
	var kept record
	if json.Unmarshal(r.Data, &kept) != nil {
		return f, false, false
	}
	f = Form{ID: r.ID, Plugin: kept.Plugin, Digest: kept.Digest, Principal: r.Principal, Params: json.RawMessage(kept.Params), Asked: r.Created}
	return f, kept.Answer != "", true
}

// Get returns a pending form. The error is store.ErrNotFound if there is none, or if it was answered.
func Get(ctx context.Context, s *store.Store, id string) (Form, error) {
	r, err := s.Get(ctx, store.Form, id)
	if err != nil {
		return Form{}, err
	}
	f, answered, ok := formOf(r)
	if answered || !ok {
		return Form{}, store.ErrNotFound
	}
	return f, nil
}

// Actions of a reply.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Reply answers a form. content is made by Fill and goes only with Accept. The error is store.ErrNotFound if no such
// form is pending.
func Reply(ctx context.Context, s *store.Store, id, action string, content json.RawMessage) error {
	r, err := s.Get(ctx, store.Form, id)
	if err != nil {
		return err
	}
	f, answered, ok := formOf(r)
	if answered || !ok {
		return store.ErrNotFound
	}
	answer := jsonraw.Object{{Key: "action", Value: jsonraw.AppendString(nil, action)}}
	if action == Accept && f.URL() == "" {
		if err := f.check(content); err != nil {
			return err
		}
		answer.Set("content", content)
	}
	r.Data, err = json.Marshal(record{Plugin: f.Plugin, Digest: f.Digest, Params: string(f.Params), Answer: string(answer.Append(nil))})
	if err != nil {
		return err
	}
	r.Expires = time.Now().Add(keepTime)
	_, err = s.Replace(ctx, store.Form, r)
	if errors.Is(err, store.ErrConflict) {
		return store.ErrNotFound
	}
	return err
}

// Message returns the plugin's message, each line marked as plugin output.
func (f Form) Message() string { return f.text("message") }

// URL returns the address that the plugin asks to have opened. It is empty for a form with fields.
func (f Form) URL() string { return f.text("url") }

func (f Form) text(member string) string {
	s, _ := jsonraw.String(jsonraw.Get(f.Params, member))
	return s
}

// check validates content against the form's schema.
func (f Form) check(content json.RawMessage) error {
	s, err := jsonschema.Compile(jsonraw.Get(f.Params, "requestedSchema"), nil)
	if err != nil {
		return fmt.Errorf("the form cannot be used: %w", err)
	}
	if err := s.Validate(content); err != nil {
		return fmt.Errorf("the form does not take this: %w", err)
	}
	return nil
}
