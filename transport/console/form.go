package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// asked is a pending form. Message and Fields are plugin output.
type asked struct {
	ID        string         `json:"id"`
	Plugin    string         `json:"plugin"`
	Digest    string         `json:"digest"`
	Principal string         `json:"principal"`
	Message   string         `json:"message"`
	URL       string         `json:"url"`
	Fields    []elicit.Field `json:"fields"`
	Asked     time.Time      `json:"asked"`
}

// answerForm answers a form with values typed on the page, which showed the form's defaults.
func (c *Console) answerForm(ctx context.Context, id, action string, values []elicit.Value) (any, int, error) {
	f, err := elicit.Get(ctx, c.opts.Store, id)
	var content []byte
	if err == nil && action == elicit.Accept && f.URL() == "" {
		if content, err = f.Fill(values, false); err != nil {
			return nil, http.StatusUnprocessableEntity, err
		}
	}
	if err == nil {
		err = elicit.Reply(ctx, c.opts.Store, id, action, content)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, http.StatusConflict, errors.New("this was answered already")
	case err == nil:
		err = c.desk.Noted(consent.Form(action, f))
	}
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return struct{}{}, http.StatusOK, nil
}
